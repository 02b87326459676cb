import json
import os
import resource
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from textwrap import dedent

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ablate.base.errors import StoreError
from ablate.core.record import Curve, Record
from ablate.core.trial import Trial
from ablate.records.store import Store


def record(trial_id="a1", **changes):
    curve = Curve(np.array([1, 2, 3]), np.array([0.5, np.nan, 0.25]))
    fields = {
        "id": trial_id,
        "config": {"model": {"name": "é", "rate": 0.1}},
        "seed": 3,
        "status": "completed",
        "metrics": {"accuracy": 0.9, "loss": None},
        "curves": {"train_loss": curve},
        "arrays": {"train_loss": np.linspace(0, 1, 5, dtype=np.float32)},
        "output": "said\n",
        "environment": {"commit": "abc"},
    }
    return Record(**(fields | changes))


def test_a_record_comes_back_as_it_was(tmp_path):
    store = Store(tmp_path)
    store.save(record())
    loaded = store.load("a1")
    assert loaded is not None
    expected = record()
    for name in ("id", "config", "seed", "status", "metrics", "output", "environment"):
        assert getattr(loaded, name) == getattr(expected, name)
    np.testing.assert_array_equal(loaded.curves["train_loss"].values, expected.curves["train_loss"].values)
    np.testing.assert_array_equal(loaded.curves["train_loss"].steps, expected.curves["train_loss"].steps)
    np.testing.assert_array_equal(loaded.arrays["train_loss"], expected.arrays["train_loss"])
    assert loaded.arrays["train_loss"].dtype == np.float32
    assert sorted(p.name for p in (tmp_path / "trials").iterdir()) == ["a1.json", "a1.npz"]


@settings(max_examples=30)
@given(st.dictionaries(st.sampled_from("abcd"), st.none() | st.floats()))
def test_metrics_that_are_no_numbers_become_none(tmp_path_factory, metrics):
    store = Store(tmp_path_factory.mktemp("store"))
    store.save(record(metrics=metrics))
    loaded = store.load("a1")
    assert loaded is not None
    assert loaded.metrics == {k: v if v is not None and np.isfinite(v) else None for k, v in metrics.items()}


def test_what_is_not_there_is_none(tmp_path):
    assert Store(tmp_path / "nowhere").load("a1") is None
    assert not (tmp_path / "nowhere").exists()


EDITS = {
    "a metric": lambda data: data["metrics"].update(accuracy=0.91),
    "the status": lambda data: data.update(status="diverged"),
    "the seed": lambda data: data.update(seed=4),
    "the config": lambda data: data["config"]["model"].update(rate=0.2),
    "a list for a metric": lambda data: data["metrics"].update(accuracy=[0.9]),
    "no metrics": lambda data: data.update(metrics=None),
    "another field": lambda data: data.update(more=1),
    "another format": lambda data: data.update(format=99),
    "no digest": lambda data: data.pop("digest"),
}


def edit(path, change):
    change(data := json.loads(path.read_text()))
    path.write_text(json.dumps(data))


CONTENTS = [b"", b"\xff\x00", b"[1]", b"[" * 100_000, b'{"a":' * 100_000, b"9" * 10_000]
FAULTS = [
    ("json", lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])),
    ("npz", lambda path: path.write_bytes(path.read_bytes()[:-10])),
    ("npz", lambda path: path.unlink()),
    *(("json", lambda path, content=content: path.write_bytes(content)) for content in CONTENTS),
    ("json", lambda path: path.write_bytes(b'{"format": 2, "metrics": {"loss": NaN}}')),
    *(("json", lambda path, change=change: edit(path, change)) for change in EDITS.values()),
    *((suffix, lambda path: (path.unlink(), path.mkdir())) for suffix in ("json", "npz")),
    *((suffix, lambda path: (path.unlink(), os.mkfifo(path))) for suffix in ("json", "npz")),
    *((suffix, lambda path: (path.unlink(), path.symlink_to(path))) for suffix in ("json", "npz")),
]


@pytest.mark.parametrize(("suffix", "spoil"), FAULTS)
def test_what_is_no_record_is_set_aside_with_a_warning(tmp_path, suffix, spoil):
    warnings = []
    store = Store(tmp_path, warnings.append)
    store.save(record())
    path = tmp_path / "trials" / f"a1.{suffix}"
    spoil(path)
    is_file = path.is_file()
    assert store.load("a1") is None
    assert len(warnings) == 1
    for words in ("is corrupt", "set aside as a1.corrupt-1", "the trial will be trained again"):
        assert words in warnings[0]
    assert (tmp_path / "trials" / "a1.corrupt-1").exists() or not is_file
    assert not (tmp_path / "trials" / "a1.json").is_file()
    store.save(record())
    assert store.load("a1") is not None


def test_the_files_of_one_trial_are_not_those_of_another(tmp_path):
    warnings = []
    store = Store(tmp_path, warnings.append)
    store.save(record(metrics={"accuracy": 0.1}))
    store.save(record("b2"))
    for suffix in ("json", "npz"):
        shutil.copy(tmp_path / f"trials/b2.{suffix}", tmp_path / f"trials/a1.{suffix}")
    assert store.load("a1") is None
    assert "holds the record of b2" in warnings[0]
    assert store.load("b2") is not None


@pytest.mark.parametrize(
    "changes", [{"seed": 4}, {"stream": "placebo"}, {"config": {"model": {"rate": 0.2}}}]
)
def test_a_record_is_of_the_trial_that_was_asked_for(tmp_path, changes):
    store = Store(tmp_path)
    store.save(record())
    trial = Trial("a1", {"model": {"name": "é", "rate": 0.1}}, 3)
    assert store.load(trial) is not None
    other = {"model": {"name": "other", "rate": 0.1}}
    assert store.load(replace(trial, config=other, irrelevant=("model.name", "x.y"))) is not None
    assert store.load(Trial("a1", {}, 3)) is not None
    assert store.load(replace(trial, **changes)) is None


def test_a_file_that_has_moved_is_known_by_its_content(tmp_path):
    store = Store(tmp_path)
    config = {"task": {"mix": [["/a/x.csv", 0.5]], "by": {"a.b": "/a/y.csv"}}}
    store.save(record(config=config, data={"file /a/x.csv": "d1", "file /a/y.csv": "d2"}))
    assert store.load(Trial("a1", config, 3, files={"/a/x.csv": "d1", "/a/y.csv": "d2"})) is not None
    moved = {"task": {"mix": [["/b/x.csv", 0.5]], "by": {"a.b": "/b/y.csv"}}}
    trial = Trial("a1", moved, 3, files={"/b/x.csv": "d1", "/b/y.csv": "d2"})
    assert store.load(trial) is not None
    assert store.load(replace(trial, files={"/b/x.csv": "d1", "/b/y.csv": "d3"})) is None


def test_what_json_changes_is_read_as_what_was_written(tmp_path):
    """Tuples, and keys that are numbers."""
    store = Store(tmp_path)
    config = {"betas": (0.9, 0.99), "levels": {9: 1.0, 10: 2.0}}
    store.save(record(config=config))
    assert store.load(Trial("a1", config, 3)) is not None


@pytest.mark.parametrize("version", [1, 3, None, True])
def test_a_record_of_another_format_is_refused_by_name(tmp_path, version):
    warnings = []
    store = Store(tmp_path, warnings.append, read_only=True)
    store.save(record())
    edit(tmp_path / "trials" / "a1.json", lambda data: data.update(format=version))
    assert store.load("a1") is None
    assert f"of format {version}; this version of ablate reads format 2" in warnings[0]


def test_a_write_that_is_killed_leaves_no_record(tmp_path):
    """The process dies between the two files, and in the middle of one."""
    script = dedent(
        f"""
        import os, sys
        sys.path.insert(0, {str(Path(__file__).parent)!r})
        from pathlib import Path
        from test_store import record
        from ablate.records.store import Store
        import ablate.base.files
        replaced = 0
        original = Path.replace
        def replace(self, target):
            global replaced
            replaced += 1
            if replaced == int(sys.argv[1]):
                os.kill(os.getpid(), 9)
            return original(self, target)
        Path.replace = replace
        Store(Path({str(tmp_path)!r})).save(record())
        """
    )
    for moment in ("1", "2"):
        done = subprocess.run([sys.executable, "-c", script, moment], check=False)
        assert done.returncode == -9
        store = Store(tmp_path)
        assert store.load("a1") is None
    store.save(record())
    assert store.load("a1") is not None


def test_a_full_disk_is_one_clear_error_and_keeps_what_was_there(tmp_path):
    """RLIMIT_FSIZE makes every write beyond it fail, as a full disk does."""
    store = Store(tmp_path)
    store.save(record(output="first"))
    child = os.fork()
    if child == 0:
        import signal

        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
        try:
            store.save(record(output="x" * 10_000))
        except StoreError as error:
            os._exit(0 if "cannot be written" in str(error) and "free space" in str(error) else 2)
        os._exit(3)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    loaded = store.load("a1")
    assert loaded is None or loaded.output == "first"
    assert not list((tmp_path / "trials").glob(".*"))


def test_the_stamp_changes_with_any_record(tmp_path):
    store = Store(tmp_path)
    with pytest.raises(FileNotFoundError):
        store.stamp(["a1"])
    store.save(record())
    store.save(record("b2"))
    before = store.stamp(["a1", "b2"])
    assert before == store.stamp(["b2", "a1"]) != store.stamp(["a1"])
    store.save(record("b2", output="more"))
    assert store.stamp(["a1", "b2"]) != before


def test_a_link_to_nothing_among_the_records_tells_no_time(tmp_path):
    store = Store(tmp_path)
    store.trials.mkdir(parents=True, exist_ok=True)
    (store.trials / f"{'0' * 16}.json").symlink_to("nothing")
    assert store.usual_seconds(1000) is None
