"""A file of the user's that cannot be loaded is a message, and harms nothing."""

import os
import sys
from pathlib import Path

import pytest
import torch

from ablate.base import plugins
from ablate.base.errors import AblateError
from ablate.base.plugins import load_plugin, load_plugins, plugin_fault


def test_a_plugin_is_run_once_for_each_content(tmp_path, capfd):
    path = tmp_path / "loud.py"
    path.write_text("print('loud')\n")
    assert [plugin_fault(path), plugin_fault(path)] == [None, None]
    assert capfd.readouterr().out == "loud\n"
    path.write_text("print('louder')\n")
    assert plugin_fault(path) is None
    assert capfd.readouterr().out == "louder\n"


def test_what_a_plugin_changes_of_the_process_is_put_back(tmp_path):
    path = tmp_path / "greedy.py"
    path.write_text("import os, sys, torch\nos.chdir('/')\nsys.stdout = None\ntorch.set_num_threads(3)\n")
    before = Path.cwd(), sys.stdout, torch.get_num_threads()
    assert plugin_fault(path) is None
    assert (Path.cwd(), sys.stdout, torch.get_num_threads()) == before


def test_modules_beside_a_plugin_that_import_one_another(tmp_path):
    names = [f"beside{i}" for i in range(30)]
    for name in names:
        (tmp_path / f"{name}.py").write_text("".join(f"import {other}\n" for other in names))
    path = tmp_path / "many.py"
    path.write_text("import beside0\n")
    assert plugin_fault(path) is None


@pytest.mark.parametrize("kind", ["pipe", "large", "folder", "missing", "study"])
def test_a_plugin_that_is_no_file_of_python(tmp_path, kind):
    path = tmp_path / ("study.yaml" if kind == "study" else "plugin.py")
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "large":
        with path.open("wb") as file:
            file.truncate(plugins.MAX_BYTES + 1)
    elif kind == "study":
        path.write_text("name: own\n")
    rule = {
        "pipe": "is a pipe, a socket or a device, not a file",
        "large": "is too large: 10.0 MB, and at most 10.0 MB are read",
        "folder": "is a folder, not a file",
        "missing": "does not exist",
        "study": "is no Python file, whose name ends in .py",
    }[kind]
    with pytest.raises(AblateError) as caught:
        load_plugins([path])
    assert str(caught.value) == f"{path}: {rule}. Name a Python file; `ablate plan` checks a study"


def test_plugins_whose_helpers_share_a_name_take_turns(tmp_path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "shared_helper.py").write_text(f"NAME = {folder!r}")
        (tmp_path / folder / f"plugin_{folder}.py").write_text("from shared_helper import NAME")
    for folder in "aba":
        path = tmp_path / folder / f"plugin_{folder}.py"
        load_plugin(path)
        assert folder == sys.modules["shared_helper"].NAME
        assert folder == sys.modules[f"ablate_plugin_plugin_{folder}"].NAME
