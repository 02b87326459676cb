"""A report goes stale with all code that made it, wherever that lies and however it was loaded."""

import pandas as pd
import pytest
from harness import TOY_CLAIMED, ablate, ablate_here, toy_changed

PROJECT = {
    "pack/__init__.py": "from .inner import HALF\n",
    "pack/inner.py": "HALF = 0.5\n",
    "spaces/deep/tenth.py": "from pack import HALF\nTENTH = HALF / 5\n",
    "site/ways/__init__.py": "def late():\n    from .later import LATE\n    return LATE\n",
    "site/ways/later.py": "LATE = 0\n",
    "site/ways/slow.py": "HUNDREDTH = 0.01\n",
}
CODE = """import importlib
from ways import late
from spaces.deep.tenth import TENTH
try:
    from more import MORE
except ImportError:
    MORE = 0

def way(name):
    return importlib.import_module(f"ways.{name}").HUNDREDTH

"""
EDITS = {
    "pack/inner.py": "HALF = 0.6\n",  # in a package beside the plugin
    "spaces/deep/tenth.py": "from pack import HALF\nTENTH = HALF / 6\n",  # in a folder that is no package
    "site/ways/slow.py": "HUNDREDTH = 0.02\n",  # by importlib, while the study is checked
    "site/ways/later.py": "LATE = 2\n",  # while a trial trains
    "more.py": "MORE = 1\n",  # which was not there
    "spaces/deep/tenth/__init__.py": "TENTH = 0.3\n",  # comes before the module of that name
}


@pytest.fixture
def changed(tmp_path, monkeypatch):
    """Writes files and runs the study of the folder; the mean accuracy, or None where nothing was done."""

    def changed(files):
        for name, text in files.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)
        done = ablate("run", "study.yaml", "--jobs", 2, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        table = pd.read_parquet(tmp_path / "results/toy/trials.parquet")
        assert set(table.status) == {"completed"}
        return None if "Nothing to train" in done.stdout else round(table.accuracy.mean(), 6)

    monkeypatch.setenv("PYTHONPATH", f"{tmp_path / 'site'}:{tmp_path / 'site-packages'}")
    monkeypatch.setenv("ABLATE_TRACKING", "off")
    return changed


@pytest.mark.slow
def test_an_edit_of_any_module_that_came_with_a_plugin(tmp_path, changed):
    check = '        if config["model"]["width"] == 13'
    own = (
        ("0.8 + model", 'TENTH + MORE + late() + way("slow") + model'),
        ('"""A workload', f'{CODE}"""A workload'),
    )
    study = toy_changed(tmp_path, "own", *own, (check, f'        way("slow")\n{check}'))
    first = changed({**PROJECT, "study.yaml": study})
    found = [(changed({name: text}) - first, changed({})) for name, text in EDITS.items()]
    assert found == [(pytest.approx(more), None) for more in (0.02, 0, 0.01, 2.01, 3.01, 3.21)]
    (tmp_path / "more.py").unlink()
    assert changed({}) - first == pytest.approx(2.21)


@pytest.mark.slow
def test_an_edit_of_an_installed_plugin(tmp_path, changed):
    study = toy_changed(
        tmp_path,
        "own",
        ("0.8 + model", "CONSTANT + model"),
        ("import sys\n", "import sys\nfrom .scales import CONSTANT\n"),
    )
    entry = "site-packages/entered.dist-info"
    files = {
        "study.yaml": study.replace("plugins: [own.py]\n", ""),
        "site-packages/entered/__init__.py": (tmp_path / "own.py").read_text(),
        "site-packages/entered/scales.py": "CONSTANT = 0.8\n",
        f"{entry}/METADATA": "Metadata-Version: 2.1\nName: entered\nVersion: 1\n",
        f"{entry}/entry_points.txt": "[ablate.plugins]\nentered = entered\n",
    }
    first = changed(files)
    assert changed({"site-packages/entered/scales.py": "CONSTANT = 0.9\n"}) - first == pytest.approx(0.1)


def test_a_report_that_is_drawn_again_is_up_to_date_and_an_edited_one_is_not(tmp_path):
    (tmp_path / "study.yaml").write_text(TOY_CLAIMED)
    folder = tmp_path / "results/toy"

    def is_current():
        done = ablate_here("run", "study.yaml", "--jobs", 0, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return "Nothing to train" in done.stdout

    assert [is_current(), is_current()] == [False, True]
    (folder / "report.html").unlink()
    next(folder.glob("figures/*.svg")).unlink()
    assert ablate_here("report", "toy", cwd=tmp_path).returncode == 0
    assert is_current()
    comparisons = (folder / "comparisons.csv").read_text()
    (folder / "comparisons.csv").write_text(comparisons.replace("better", "worse"))
    assert [is_current(), is_current()] == [False, True]
    assert (folder / "comparisons.csv").read_text() == comparisons
