"""When workers come from a fork of the driver: in a command, on this machine, without code of the user's."""

from dataclasses import replace

import pytest
from harness import TOY_STUDY

from ablate.execution import driver_fork
from ablate.session.forks import forks_driver, has_processes
from ablate.session.options import Options, RunCall
from ablate.study.document import read_document

LOCAL = RunCall(jobs=2, engine="local")


@pytest.fixture
def built_in(write):
    return read_document(write("name: x\ntask: recall\nmodel: {d_model: 8}\n"))


def test_processes_of_this_machine_are_those_of_the_local_engine():
    assert has_processes(LOCAL)
    assert not has_processes(replace(LOCAL, engine="ray"))
    assert not has_processes(replace(LOCAL, jobs=0))


def test_the_driver_is_forked_where_nothing_speaks_against_it(built_in, write, monkeypatch):
    monkeypatch.setattr(driver_fork, "is_likely", lambda: True)
    assert forks_driver(built_in, LOCAL)
    assert not forks_driver(built_in, Options(jobs=2, engine="local"))
    assert not forks_driver(built_in, replace(LOCAL, engine="ray"))
    assert not forks_driver(read_document(write(TOY_STUDY, "own.yaml")), LOCAL), "code of the user's"
    monkeypatch.setattr(driver_fork, "is_likely", lambda: False)
    assert not forks_driver(built_in, LOCAL)
