"""What is published says where a chosen value lies at the edge of its grid, and where training ended too early."""

from pathlib import Path

import pytest

from ablate import load
from ablate.analysis.learning import convergence
from ablate.analysis.search_table import search_table_of
from ablate.core.short_names import short_names

RESULTS = Path(__file__).parents[1] / "results"
PUBLISHED = sorted(
    path.parent for path in RESULTS.glob("**/report.md") if (path.parent / "trials.parquet").exists()
)


def edges(evidence):
    """(variant, path, side, label) of every chosen number that is the first or the last of those that were searched."""
    searched = search_table_of(evidence)
    if searched is None or evidence.facts.plan.searched != "tuning":
        return
    chosen = searched.trials[searched.trials["chosen"] == searched.trials["variant"]]
    for parameter in searched.facts.parameters:
        try:
            rising = sorted(parameter.values(), key=float)
        except ValueError:
            continue  # Words have no edge.
        for variant, value in zip(chosen["variant"], chosen[parameter.path], strict=True):
            for side, end in (("lower", rising[0]), ("upper", rising[-1])):
                if len(rising) > 2 and value == end:
                    yield variant, parameter.path, side, value


def improving(evidence):
    """The variants that were still improving when training ended, on some task."""
    rows = convergence(evidence)
    return list(dict.fromkeys(rows.loc[rows["improving"], "variant"]))


@pytest.mark.slow
@pytest.mark.parametrize("folder", PUBLISHED, ids=lambda folder: str(folder.relative_to(RESULTS)))
def test_no_edge_and_no_unfinished_training_is_undisclosed(folder):
    evidence = load(folder).evidence
    names = short_names(evidence.facts)
    limits = [line for line in (folder / "report.md").read_text().splitlines() if line.startswith("- ")]
    for variant, path, side, value in edges(evidence):
        named = f"{names[variant]} ({value})"
        said = [line for line in limits if f"the {side} edge" in line and named in line]
        assert said, f"{path} of {variant} lies at its {side} edge"
    for variant in improving(evidence):
        said = [line for line in limits if line.startswith("- Still improving when training ended: ")]
        assert any("every variant" in line or names[variant] in line for line in said), variant


def test_published_studies_are_looked_at():
    assert len(PUBLISHED) > 40
