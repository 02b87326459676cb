"""Who waits for whom: drivers of one study, and trainings and measurements of one store."""

import threading

import pytest

from ablate.base.locks import exclusive, if_free, measuring, training


def of(kind, study):
    return lambda root, say: kind(root, study, say)


a_run, a_training, b_training = of(exclusive, "a"), of(training, "a"), of(training, "b")


@pytest.mark.parametrize(
    ("first", "second", "told"),
    [
        (a_run, a_run, "a is already running; waiting"),
        (a_training, measuring, "a is training, which would disturb the measurement; waiting"),
        (measuring, a_training, "speed is being measured, which training would disturb; waiting"),
        (measuring, measuring, "speed is already being measured; waiting"),
    ],
)
def test_one_waits_and_says_why(tmp_path, first, second, told):
    said = []
    waits, entered = threading.Event(), threading.Event()

    def hear(text):
        said.append(text)
        waits.set()

    def follow():
        with second(tmp_path, hear):
            entered.set()

    with first(tmp_path, said.append):
        thread = threading.Thread(target=follow, daemon=True)
        thread.start()
        assert waits.wait(60)
        assert not entered.is_set()
    assert entered.wait(60)
    thread.join(60)
    assert len(said) == 1
    assert said[0].startswith(told)


@pytest.mark.parametrize(
    ("first", "second"), [(a_training, b_training), (a_run, measuring), (a_run, a_training)]
)
def test_others_do_not_wait(tmp_path, first, second):
    """A study that waits for a measurement, or takes one, holds its own lock all the while."""
    with first(tmp_path, pytest.fail), second(tmp_path, pytest.fail):
        pass


def test_a_lock_that_another_driver_has_is_not_waited_for(tmp_path):
    with exclusive(tmp_path, "a", pytest.fail):
        with if_free(tmp_path, "a") as is_free:
            assert not is_free
        with if_free(tmp_path, "b") as is_free:
            assert is_free
    with if_free(tmp_path, "a") as is_free:
        assert is_free
        with if_free(tmp_path, "a") as again:
            assert not again
