"""No character that controls a terminal or deceives reaches a file or a terminal, through names, columns or cells."""

import re

import pandas as pd
import pytest
from click.testing import CliRunner

import ablate
from ablate.cli import main
from ablate.runs.visible import visible

CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u206f\u200b\u2060-\u2064\ufeff]")
BINARY = (".png", ".parquet", ".pdf")
BASE = "ba\x1b[31mse\x07"
METRIC = "ac\x07c\x1b[0m"


@pytest.fixture
def runs(tmp_path):
    """A table whose names, columns and cells have such characters; two names differ by one alone."""
    rows = []
    for variant, effect in ((BASE, 0.0), ("wi\x07de", 0.05), ("wide\x1b[1m", 0.02), ("wide", 0.01)):
        for seed in range(3):
            row = {"variant": variant, "seed": seed, METRIC: 0.7 + effect + 0.001 * (seed * seed % 5)}
            rows.append(row | {"opti\x9bon": f"\u202e{variant}", "task": "ta\x1b[2Jsk"})
    path = tmp_path / "runs.csv"
    pd.DataFrame(rows).to_csv(path, index=False)
    return path


def clean(text):
    return not CONTROLS.search(text)


@pytest.mark.slow
def test_names_of_runs_reach_no_file_and_no_terminal(runs, tmp_path):
    words = ["--baseline", BASE, "--metric", METRIC, "--direction", "max", "--margin", "0.5"]
    claim = f"wi\x07de beats {BASE} on {METRIC}"
    results = ["--results", str(tmp_path / "results")]
    done = CliRunner().invoke(main, ["analyse", str(runs), *words, "--claim", claim, *results])
    assert done.exit_code == 0, done.output
    assert clean(done.output)
    as_json = CliRunner().invoke(main, ["analyse", str(runs), *words, *results, "--json"])
    assert clean(as_json.stdout)
    exported = CliRunner().invoke(main, ["export", "runs", *results])
    assert exported.exit_code == 0, exported.output
    written = [path for path in (tmp_path / "results").rglob("*") if path.is_file()]
    assert {"card.md", "comparisons.csv", "results.tex"} <= {path.name for path in written}
    for path in written:
        if path.suffix not in BINARY:
            assert clean(path.read_text(encoding="utf-8")), path


@pytest.mark.slow
def test_two_names_stay_two(runs):
    """Without its colours a name would be that of another variant."""
    results = ablate.analyse(pd.read_csv(runs), baseline=BASE, metric=METRIC, direction="max")
    assert [*results.comparisons["variant"]] == ["wi\\x07de", "wide\\x1b[1m", "wide"]
    assert clean(results._repr_html_())
    assert clean(repr(results))


def test_letters_of_any_script_stay():
    for name in ("naïve", "κ=0.1", "学習率", "a\u200fb", "👩‍🔬", "x\ty"):
        assert visible(name) == name
    assert visible("a\x1b[31mb\x07") == "a\\x1b[31mb\\x07"
