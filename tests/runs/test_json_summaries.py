"""What summarises runs in a JSON document beside them is no run."""

import json
import statistics

import pytest
from scipy import stats
from summarised import judged

from ablate.runs.formats.json_summaries import runs_of_document

A = [0.911, 0.915, 0.908, 0.917]
B = [0.921, 0.929, 0.918, 0.925]
OF = {"a": A, "b": B}


def by_seed(values, **others):
    return {str(seed): {"acc": value} for seed, value in enumerate(values)} | others


RUNS = [{"variant": name, "seed": seed, "acc": OF[name][seed]} for name in OF for seed in range(4)]
MEANS = {name: {"acc": statistics.mean(values)} for name, values in OF.items()}
NESTED = {name: by_seed(values) for name, values in OF.items()}
LISTS = {name: {"acc": values} for name, values in OF.items()}
DOCUMENTS = {
    "rows beside a summary": {"runs": RUNS, "summary": MEANS},
    "rows beside rows of a summary": {"results": RUNS, "summary": [{"variant": "a", **MEANS["a"]}]},
    "mean rows": {"runs": [*RUNS, {"variant": "a", "seed": "mean", "acc": 0.9}]},
    "raw beside a summary": {"raw": NESTED, "summary": MEANS},
    "raw beside the means of variants": {**MEANS, "effect_sizes": {"b": 2.5}, "raw_results": NESTED},
    "lists, seeds and statistics": {"seeds": [3, 5, 7, 9], "results": LISTS, "statistics": MEANS},
    "means among seeds": {
        name: by_seed(values, mean=MEANS[name], std={"acc": 0.01}) for name, values in OF.items()
    },
}


@pytest.mark.slow
@pytest.mark.parametrize("name", DOCUMENTS)
def test_summaries_beside_runs_do_not_count(name, tmp_path):
    (tmp_path / "runs.json").write_text(json.dumps(DOCUMENTS[name]))
    rows, text = judged(tmp_path, tmp_path / "runs.json", "--baseline", "a", "--metric", "acc")
    paired = stats.ttest_rel(B, A)
    low, high = paired.confidence_interval(0.95)
    row = rows["b"]
    assert (row["n"], row["p"]) == (4, pytest.approx(paired.pvalue))
    assert (row["ci_low"], row["ci_high"]) == (pytest.approx(low), pytest.approx(high))
    assert rows.keys() == {"b"}
    assert "Left out for" in text


KEPT = {
    "two sets of results": {"results": NESTED, "results_on_mail": NESTED},
    "data sets": {"pan": NESTED, "mail": NESTED},
    "a variant called mean": {"a": by_seed(A), "mean": by_seed(B)},
    "metrics called mean and std": {"a": {"mean": A, "std": B}, "b": {"mean": A, "std": B}},
    "a summary alone": {"summary": NESTED},
}


@pytest.mark.parametrize("name", KEPT)
def test_what_only_looks_like_a_summary_stays(name):
    found = runs_of_document(KEPT[name], "a")
    assert found.document == KEPT[name]
    assert not found.left_out


def test_lists_beside_the_runs_are_kept_as_what_may_number_them():
    document = {"seeds": [42, 43], "results": {"a": [1.0, 2.0], "b": [3.0, 4.0]}}
    found = runs_of_document(document, "a")
    assert (found.document, found.beside) == (document["results"], {"seeds": [42, 43]})
