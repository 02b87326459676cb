"""What `make setup` installs from where: real sockets and processes, and a pip that only notes how it is called."""

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from setup import install
from setup.install import Torch

SCRIPT = Path(install.__file__)
PATIENT = 60.0
"""Seconds for what does answer: how fast the machine is must not decide."""
BRIEF = 0.2
NO_SETTINGS: install.Settings = {"global": {}, "install": {}, ":env:": {}}
PIP = """
import json, os, pathlib, sys
folder = pathlib.Path(__file__).parents[1]
if sys.argv[1:] == ["config", "list"]:
    print((folder / "settings").read_text())
    sys.exit()
with (folder / "calls").open("a") as calls:
    print(json.dumps([sys.argv[1:], os.environ.get("PIP_EXTRA_INDEX_URL")]), file=calls)
sys.exit("--index-url" in sys.argv and (folder / "broken").exists())
"""


class Statuses(BaseHTTPRequestHandler):
    """Answers with the status that the first folder of the path names."""

    def do_GET(self) -> None:
        path = self.path.removeprefix("http://far.invalid")  # as a proxy is asked
        self.send_response(int(path.split("/")[1]))
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), Statuses) as http:
        threading.Thread(target=http.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{http.server_port}"
        http.shutdown()


@pytest.fixture(scope="module")
def hanging() -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


@pytest.fixture(scope="module")
def refused() -> str:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return f"http://127.0.0.1:{listener.getsockname()[1]}"


@pytest.fixture(autouse=True)
def machine(tmp_path, monkeypatch) -> Path:
    """The folder of the programs of a machine without a GPU, a proxy or settings of pip."""
    for name in [name for name in os.environ if name.lower().endswith("_proxy") or name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    programs = tmp_path / "programs"
    programs.mkdir()
    monkeypatch.setenv("PATH", str(programs))
    return programs


def driver(folder: Path, line: str, code: int = 0) -> None:
    """Puts an `nvidia-smi` into a folder."""
    (folder / "nvidia-smi").write_text(f"#!/bin/sh\necho '{line}'\nexit {code}\n")
    (folder / "nvidia-smi").chmod(0o755)


def chosen(index: str, platform: str = "linux", seconds: float = PATIENT) -> Torch:
    return install.choose_torch(platform, index, NO_SETTINGS, seconds)[0]


@pytest.mark.slow
def test_the_cpu_build_is_taken_where_its_index_answers(server, refused, hanging):
    assert chosen(f"{server}/200") is Torch.CPU
    secure = f"{server}/200".replace("http:", "https:")
    assert chosen(hanging, seconds=BRIEF) is Torch.NO_ANSWER
    for index in (refused, f"{server}/403", f"{server}/404", f"{server}/503", secure):
        assert chosen(index) is Torch.NO_ANSWER, index


def test_a_gpu_or_another_system_needs_no_cpu_build(server, machine):
    assert chosen(f"{server}/200", platform="darwin") is Torch.NOT_LINUX
    driver(machine, "GPU 0: H100")
    assert chosen(f"{server}/200") is Torch.GPU
    driver(machine, "No devices found.")
    assert chosen(f"{server}/200") is Torch.CPU
    driver(machine, "GPU 0: H100", code=9)
    assert chosen(f"{server}/200") is Torch.CPU


@pytest.mark.parametrize("told_by", ["environment", "pip"])
def test_indexes_are_asked_through_the_proxy(server, monkeypatch, told_by):
    settings = {**NO_SETTINGS}
    if told_by == "pip":
        settings["global"] = {"proxy": server}
    else:
        monkeypatch.setenv("http_proxy", server)
    assert install.choose_torch("linux", "http://far.invalid/200", settings, PATIENT) == (Torch.CPU, "")


@pytest.mark.slow
def test_extra_indexes_that_do_not_answer_are_left_out(server, refused, hanging):
    def asked(seconds: float = PATIENT, **sections: str) -> tuple[list[str], set[str]]:
        settings = {name: {"extra-index-url": sections.get(name.strip(":"), "")} for name in NO_SETTINGS}
        usable, faults = install.extra_indexes(settings, seconds)
        return usable, set(faults)

    local = "file:///opt/simple"
    missing, failing = f"{server}/404", f"{server}/503"
    assert asked() == ([], set())
    assert asked(env=f"{local} {missing}\n{failing} {refused}") == ([local, missing], {failing, refused})
    assert asked(env=missing, install=local, **{"global": refused}) == ([missing], set())
    assert asked(BRIEF, env=refused, install=hanging, **{"global": local}) == ([local], {refused, hanging})


def test_a_login_is_kept_and_not_shown(server):
    index = f"{server}/200".replace("http://", "http://me:secret@")
    assert install.extra_indexes({"global": {"extra-index-url": index}}, PATIENT) == ([index], {})
    assert install.without_login(index) == f"{server}/200"


@pytest.fixture
def pip(tmp_path, monkeypatch) -> Path:
    """The folder of a pip that only notes how it is called."""
    (tmp_path / "pip").mkdir()
    (tmp_path / "pip/__init__.py").touch()  # without it, the one that is installed has precedence
    (tmp_path / "pip/__main__.py").write_text(PIP)
    (tmp_path / "settings").write_text("")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    return tmp_path


def calls(pip: Path, index: str, code: int = 0) -> list[tuple[str, str, str | None]]:
    """Runs the script, and returns what each installation is of, from which index, with which extra ones.

    It runs in a folder that has nothing to install, should pip ever be the real one.
    """
    command = [sys.executable, str(SCRIPT), "--torch-index", index, "--seconds", str(PATIENT)]
    done = subprocess.run(command, cwd=pip, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    rows = []
    for line in (pip / "calls").read_text().splitlines():
        words, extra = json.loads(line)
        assert words[0] == "install"
        assert words[words.index("--constraint") + 1] == "constraints.txt"
        source = words[words.index("--index-url") + 1] if "--index-url" in words else "own"
        rows.append((words[-1], source, extra))
    return rows


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the CPU build is taken on Linux alone")
def test_torch_comes_first_and_the_rest_from_the_user_s_index(server, pip, monkeypatch):
    index = f"{server}/200"
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", "as it was")
    expected = [("torch", index, "as it was"), (".[train,test]", "own", "as it was")]
    assert calls(pip, index) == expected
    (pip / "broken").touch()
    assert calls(pip, index)[2:] == expected


@pytest.mark.slow
def test_the_plain_torch_comes_with_the_rest_and_without_dead_indexes(server, refused, pip):
    (pip / "settings").write_text(
        f":env:.extra-index-url='{refused}'\nglobal.extra-index-url='{server}/404'\n"
    )
    assert calls(pip, refused) == [(".[train,test]", "own", f"{server}/404")]


@pytest.mark.slow
def test_a_list_of_dead_indexes_becomes_one_without_entries(refused, pip):
    (pip / "settings").write_text(f"global.extra-index-url='{refused}'\n")
    ((_, _, extra),) = calls(pip, refused)
    assert extra
    assert not extra.split()


@pytest.mark.slow
def test_the_setup_fails_with_pip(refused, pip):
    (pip / "pip/__main__.py").write_text(PIP.replace('"--index-url" in', '"--editable" in'))
    (pip / "broken").touch()
    assert calls(pip, refused, code=1)
