"""A search that cannot be done is a mistake of the study: named with its line, before anything trains or is written."""

import pytest
from harness import ablate_here, problems
from searching import PEAK_STUDY


def test_a_sweep_needs_a_search(write):
    path = write(PEAK_STUDY)
    done = ablate_here("sweep", path, cwd=path.parent)
    assert done.returncode == 2
    assert "search: is required: it says what a sweep looks for" in done.stderr
    assert [p.name for p in path.parent.iterdir()] == ["study.yaml"]


@pytest.mark.parametrize("kind", ["search", "tune"])
def test_a_storage_is_refused_by_name_with_the_reason(write, kind):
    over = "{over: {model.x: {float: [0, 1]}}, storage: sqlite:///x.db}"
    (said,) = problems(write(f"{PEAK_STUDY}{kind}: {over}\n"))
    assert f"{kind}.storage: is not kept anywhere but in the records" in said
    assert "ablate export --optuna" in said
