"""A file of the user's that ends the process or never returns is a message, and harms nothing."""

import os
import sys
import time
from pathlib import Path

import pytest

from ablate.base import plugins
from ablate.base.errors import AblateError
from ablate.base.plugins import Fault, load_plugin, load_plugins, plugin_fault


@pytest.mark.parametrize(
    ("text", "expected", "line"),
    [
        ("import os\nos._exit(0)\n", "it ends the process with exit code 0", None),
        ("from os import _exit as leave\nleave(3)\n", "it ends the process with exit code 3", None),
        ("import os\nos.kill(os.getpid(), 9)\n", "it ends the process by SIGKILL", None),
        ("import ctypes\n\nctypes.string_at(0)\n", "it ends the process by SIGSEGV", 3),
        ("import os\nos.abort()\n", "it ends the process by SIGABRT", 2),
        ("x = 1\nraise KeyboardInterrupt\n", "KeyboardInterrupt", 2),
        ("raise GeneratorExit('no')\n", "GeneratorExit: no", 1),
        ("class Own(BaseException):\n    pass\nraise Own('no')\n", "Own: no", 3),
        ("import sys\nsys.exit(0)\n", "SystemExit: 0", 2),
        ("x = 1 / 0\n", "ZeroDivisionError: division by zero", 1),
        ("x = (\n", "SyntaxError: '(' was never closed", 1),
        ("x = " + "-" * 100_000 + "1\n", "MemoryError", None),
    ],
)
def test_a_plugin_that_ends_the_process(tmp_path: Path, text: str, expected: str, line: int | None) -> None:
    path = tmp_path / "broken.py"
    path.write_text(text)
    assert plugin_fault(path) == Fault(expected, path, line)
    assert "ablate_plugin_broken" not in sys.modules


@pytest.mark.parametrize(
    "text",
    [
        "x = 1\nwhile True:\n    x += 1\n",
        "import time\ntime.sleep(3600)\n",
        "import re\nre.match('(a+)+b', 'a' * 60)\n",
        "x = 7\ny = x**x**9\n",
        "x = 1\nwhile x:\n    try:\n        raise ValueError\n    except BaseException:\n        pass\n",
    ],
)
def test_a_plugin_that_never_returns(tmp_path: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugins, "SECONDS", 0.5)
    path = tmp_path / "endless.py"
    path.write_text(text)
    fault = plugin_fault(path)
    assert fault is not None
    assert fault.error == "it does not end within 0.5 s"
    assert fault.line in range(2, 7)


def test_processes_that_a_plugin_leaves_behind_end_with_its_trial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plugins, "SECONDS", 1.0)
    told = tmp_path / "told"
    path = tmp_path / "forks.py"
    path.write_text(
        f"import os, time\nif not os.fork():\n    open({str(told)!r}, 'w').write(str(os.getpid()))\n"
        "    time.sleep(3600)\nwhile True:\n    pass\n"
    )
    fault = plugin_fault(path)
    assert fault is not None
    assert fault.error == "it does not end within 1 s"
    child = int(told.read_text())
    deadline = time.monotonic() + 30
    while Path(f"/proc/{child}/stat").exists() and ") Z " not in Path(f"/proc/{child}/stat").read_text():
        assert time.monotonic() < deadline, "it still runs"
        time.sleep(0.01)


def test_a_plugin_is_tried_once_for_each_content(tmp_path: Path) -> None:
    runs, path = tmp_path / "runs", tmp_path / "counted.py"
    text = f"with open({str(runs)!r}, 'a') as file:\n    file.write('x')\n"
    path.write_text(text)
    for expected in ("xx", "xx"):
        assert plugin_fault(path) is None
        assert runs.read_text() == expected
    path.write_text(f"{text}y = 1\n")
    assert plugin_fault(path) is None
    assert runs.read_text() == "xxxx"


def test_what_a_plugin_prints_is_printed_once(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "loud.py"
    path.write_text("import os\nprint('loud')\nos.write(2, b'louder')\n")
    assert plugin_fault(path) is None
    assert capfd.readouterr() == ("loud\n", "louder")


def test_modules_beside_a_plugin_that_import_one_another(tmp_path: Path) -> None:
    names = [f"beside{i}" for i in range(30)]
    for name in names:
        (tmp_path / f"{name}.py").write_text("".join(f"import {other}\n" for other in names))
    path = tmp_path / "many.py"
    path.write_text("import beside0\n")
    assert plugin_fault(path) is None


@pytest.mark.parametrize("kind", ["pipe", "device", "large", "folder", "name", "missing"])
def test_a_plugin_that_is_no_file(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "plugin.py"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "large":
        with path.open("wb") as file:
            file.truncate(plugins.MAX_BYTES + 1)
    else:
        path = {"device": Path("/dev/zero"), "name": tmp_path / ("n" * 5000)}.get(kind, path)
    rules = {
        "large": "is too large: 10.0 MB, and at most 10.0 MB are read",
        "folder": "is a folder, not a file",
        "name": "cannot be read: File name too long",
        "missing": "does not exist",
    }
    rule = rules.get(kind, "is a pipe, a socket or a device, not a file")
    with pytest.raises(AblateError) as caught:
        load_plugins([path])
    assert str(caught.value) == f"{path}: {rule}. Name a Python file"


def test_plugins_whose_helpers_share_a_name_take_turns(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "shared_helper.py").write_text(f"NAME = {folder!r}")
        (tmp_path / folder / f"plugin_{folder}.py").write_text("from shared_helper import NAME")
    for folder in "aba":
        path = tmp_path / folder / f"plugin_{folder}.py"
        load_plugin(path)
        assert folder == sys.modules["shared_helper"].NAME
        assert folder == sys.modules[f"ablate_plugin_plugin_{folder}"].NAME
