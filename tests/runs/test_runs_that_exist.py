"""What `analyse` makes of the committed runs of every study, and of runs with known answers."""

import dataclasses
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from ablate.analysis.claims import judge_claims
from ablate.analysis.compare import compare
from ablate.core.derived import DERIVED, StudyContext
from ablate.core.facts import INTERACTION, Claim, Evidence, StudyFacts
from ablate.core.metric import Metric
from ablate.records.folder import StudyFolder
from ablate.runs.evidence import evidence_of
from ablate.runs.options import AnalysisOptions
from ablate.runs.reading import RunTable

RESULTS = Path(__file__).parents[2] / "results"
STUDIES = sorted(
    path.parent
    for pattern in ("*", "atlas/*")
    for path in RESULTS.glob(f"{pattern}/trials.parquet")
    if StudyFolder.at(path.parent).has_trials
)
FAST = ("15-causal", "08-heads", "22-depth")
NUMBERS = ["n", "mean_variant", "mean_baseline", "diff", "ci_low", "ci_high", "level", "p", "solved_variant"]


ASKED = AnalysisOptions(baseline="a", metric="m", direction="max")
GIVEN = {"task": "runs", "seed": 0, "example": "all", "status": "completed"}


def long_table(evidence: Evidence) -> pd.DataFrame:
    """The trials as someone else would keep them: a row a run or, where seeds share examples, a run and example."""
    trials, examples = evidence.trials, evidence.examples
    if examples.empty:
        return trials
    values = {
        (row.id, row.metric): row.values_
        for row in examples.rename(columns={"values": "values_"}).itertuples()
    }
    rows = []
    for row in trials.to_dict("records"):
        size = len(values[row["id"], evidence.facts.metric])
        kept = {name: of for (run, name), of in values.items() if run == row["id"]}
        rows.append(pd.DataFrame({**row, "example": np.arange(size), **kept}))
    return pd.concat(rows, ignore_index=True)


def claimed(claim: Claim, facts: StudyFacts) -> str:
    """The claim in the names of variants; nothing of one that a table of runs cannot tell: of interactions, means over
    the other factors, constants of a task, speed, and trainings beside the judged ones.
    """
    lacks = claim.metric in DERIVED and DERIVED[claim.metric].lacks(StudyContext(facts.tasks[0].metrics))
    if claim.kind == INTERACTION or claim.constant or len(claim.variants) != 2 or lacks:
        return ""
    verb = {"does_not_lose": "does not lose to"}.get(claim.kind, claim.kind)
    return f"{claim.a[0]} {verb} {claim.b[0]} on {claim.metric} {'by' if verb == 'beats' else 'within'} {claim.by}"


@pytest.mark.parametrize(
    "path", [pytest.param(p, marks=[] if p.name in FAST else pytest.mark.slow, id=p.name) for p in STUDIES]
)
def test_the_runs_of_a_study_give_its_numbers_and_verdicts_again(path):
    evidence = StudyFolder.at(path).evidence()
    facts, (task,) = evidence.facts, evidence.facts.tasks
    claims = {text: claim for claim in facts.claims if (text := claimed(claim, facts))}
    metrics = {facts.metric: task.metrics[facts.metric]}
    metrics |= {c.metric: task.metrics[c.metric] for c in claims.values() if c.metric in task.metrics}
    rate = task.outcome == "all_or_nothing" or None
    asked = AnalysisOptions(
        baseline="baseline",
        metric=facts.metric,
        direction=metrics[facts.metric].direction,
        margin=facts.margin,
        all_or_nothing=rate,
        claim=[*claims],
    )
    found = evidence_of(rows(long_table(evidence)), metrics, asked, path.name)
    mine = compare(found).set_index(["variant", "metric"])

    # Without the other settings that tuning could not tell from the chosen ones: their runs are not in the table. And
    # with the cells of a factorial in place of its main effects.
    plain = dataclasses.replace(
        facts,
        design="",
        variants=[dataclasses.replace(v, rivals={}) for v in facts.variants],
        claims=[dataclasses.replace(claim, exploratory=False) for claim in claims.values()],
    )
    alone = dataclasses.replace(evidence, facts=plain)
    theirs = compare(alone).set_index(["variant", "metric"]).loc[mine.index]
    pd.testing.assert_frame_equal(mine[NUMBERS], theirs[NUMBERS], rtol=1e-4, atol=1e-7, check_dtype=False)
    assert mine["verdict"].tolist() == theirs["verdict"].tolist()
    judged, before = judge_claims(found), judge_claims(alone)
    assert judged["verdict"].tolist() == before["verdict"].tolist()

    committed = pd.read_csv(path / "comparisons.csv").set_index(["variant", "metric"])
    committed = committed[committed["baseline"] == "baseline"]  # And no means over other factors.
    same = mine.index.intersection(committed.index)
    assert np.allclose(mine.loc[same, "diff"], committed.loc[same, "diff"], rtol=1e-4, atol=1e-7)
    if len(claims) == len(facts.claims) and facts.design == "one_factor":
        runner_ups = {v.name for v in facts.variants if v.rivals}
        for key, row in committed.loc[same].iterrows():
            if not runner_ups & {row["baseline"], key[0]}:
                assert np.allclose(
                    mine.loc[key, NUMBERS[3:8]].astype(float), row[NUMBERS[3:8]].astype(float), rtol=1e-4
                )
                assert mine.loc[key, "verdict"] == row["verdict"] or row["exploratory"]


def rows(table: pd.DataFrame) -> RunTable:
    """As `read` gives them."""
    return RunTable(pd.DataFrame(GIVEN | {"id": range(len(table))}).assign(**table))


def judged(table: pd.DataFrame, **metric: float) -> pd.Series:
    found = evidence_of(rows(table), {"m": Metric("max", **metric)}, ASKED, "x")
    (row,) = compare(found).to_dict("records")
    return pd.Series(row)


def test_runs_without_common_seeds_are_compared_by_welch():
    rng = np.random.default_rng(3)
    a, b = rng.normal(0.0, 1.0, 7), rng.normal(1.0, 3.0, 4)
    table = pd.DataFrame({"variant": ["a"] * 7 + ["b"] * 4, "seed": range(11), "m": [*a, *b]})
    row, expected = judged(table), stats.ttest_ind(b, a, equal_var=False)
    assert row["p"] == pytest.approx(expected.pvalue)
    assert (row["ci_low"], row["ci_high"]) == pytest.approx(tuple(expected.confidence_interval(0.95)))
    # One seed that happens to be the same makes no pair; two do.
    assert judged(table.assign(seed=[*range(7), *range(6, 10)]))["p"] == row["p"]
    assert judged(table.assign(seed=[*range(7), *range(5, 9)]))["n"] == 2


def test_a_run_that_failed_and_one_that_diverged_are_not_left_out():
    table = pd.DataFrame({"variant": list("aaaabbbb"), "seed": [*range(4)] * 2, "m": [*"1234", *"567", ""]})
    assert judged(table)["reason"].startswith("incomplete")
    apart = table.assign(seed=range(8))
    assert judged(apart)["reason"].startswith("incomplete")
    diverged = table.assign(m=[*"1234", *"567", "nan"])
    assert judged(diverged)["reason"] == "unstable diverged=1"
    assert judged(diverged, floor=0.0)["n"] == 4


def test_runs_by_example_that_share_no_seeds_are_not_compared():
    """Welch's t over seeds alone would take the examples for all there are."""
    runs = [("a", 0), ("a", 1), ("b", 2), ("b", 3)]
    kept = [
        {"variant": v, "seed": s, "example": e, "m": (7 * e + 3 * s) % 5} for v, s in runs for e in range(9)
    ]
    assert judged(pd.DataFrame(kept))["reason"] == "few n=0 least=2"


def test_a_new_run_without_a_result_is_not_judged_by_known_noise():
    table = pd.DataFrame({"variant": list("aaab"), "seed": range(4), "m": [*"123", ""]})
    found = evidence_of(
        rows(table), {"m": Metric("max")}, dataclasses.replace(ASKED, known_noise=Path("noise.json")), "x"
    )
    assert compare(found)["reason"].tolist() == ["incomplete pairs=0 missing=1"]


def test_fixed_models_are_paired_by_document_and_clustered_by_source():
    import statsmodels.api as sm

    rng = np.random.default_rng(5)
    source = rng.integers(0, 40, 200)
    d = rng.normal(0.1, 1.0, 200) + rng.normal(0.0, 1.0, 40)[source]
    a = rng.normal(0.0, 1.0, 200)
    table = pd.DataFrame(
        {"variant": ["a"] * 200 + ["b"] * 200, "example": [*range(200)] * 2, "m": [*a, *(a + d)]}
    )
    one, paired = judged(table), stats.ttest_1samp(d, 0)
    assert (one["n"], one["p"]) == (200, pytest.approx(paired.pvalue, rel=1e-4))
    row = judged(table.assign(source=[*source] * 2))
    groups = pd.factorize(source)[0]
    fit = sm.OLS(d, np.ones(200)).fit(cov_type="cluster", cov_kwds={"groups": groups}, use_t=True)
    assert row["p"] == pytest.approx(fit.pvalues[0], rel=1e-4)
    assert [row["ci_low"], row["ci_high"]] == pytest.approx(fit.conf_int()[0], rel=1e-4)
