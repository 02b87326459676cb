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
from ablate.core.facts import Claim, Evidence, StudyFacts
from ablate.core.metric import Metric
from ablate.records.folder import StudyFolder
from ablate.runs.ends.statuses import ends_of
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
FAST = ("16-cross", "low-rank-on-few-images", "regularisers")
NUMBERS = ["n", "mean_variant", "mean_baseline", "diff", "ci_low", "ci_high", "level", "p", "solved_variant"]


ASKED = AnalysisOptions(baseline="a", metric="m", direction="max")
GIVEN = {"task": "runs", "seed": 0, "example": "all"}


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
    if claim.kind == "interaction" or claim.constant or len(claim.variants) != 2 or lacks:
        return ""
    verb = {"does_not_lose": "does not lose to"}.get(claim.kind, claim.kind)
    return f"{claim.a[0]} {verb} {claim.b[0]} on {claim.metric} {'by' if verb == 'beats' else 'within'} {claim.by}"


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize(
    "path", [pytest.param(p, marks=[] if p.name in FAST else pytest.mark.slow, id=p.name) for p in STUDIES]
)
def test_the_runs_of_a_study_give_its_numbers_and_verdicts_again(path):
    evidence = StudyFolder.at(path).evidence()
    facts, tasks = evidence.facts, evidence.facts.tasks
    if len(tasks) > 1:
        pytest.skip("a table of runs is of one task")
    (task,) = tasks
    claims = {text: claim for claim in facts.claims if (text := claimed(claim, facts))}
    metrics = {facts.metric: task.metrics[facts.metric]}
    metrics |= {c.metric: task.metrics[c.metric] for c in claims.values() if c.metric in task.metrics}
    rate = 1.0 if task.outcome == "all_or_nothing" else None
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

    # Without the other settings that tuning could not tell from the chosen ones: their runs are not in the table. With
    # the cells of a factorial in place of its main effects, and every row in the family, as of given runs.
    plain = dataclasses.replace(
        facts,
        design="",
        family="all",
        variants=[dataclasses.replace(v, rivals={}) for v in facts.variants],
        claims=[dataclasses.replace(claim, exploratory=False) for claim in claims.values()],
    )
    alone = dataclasses.replace(evidence, facts=plain)
    theirs = compare(alone).set_index(["variant", "metric"]).loc[mine.index]
    np.testing.assert_allclose(
        mine[NUMBERS].astype(float), theirs[NUMBERS].astype(float), rtol=1e-4, atol=1e-7
    )
    assert mine["verdict"].tolist() == theirs["verdict"].tolist()
    judged, before = judge_claims(found), judge_claims(alone)
    assert judged["verdict"].tolist() == before["verdict"].tolist()

    committed = pd.read_csv(path / "comparisons.csv").set_index(["variant", "metric"])
    committed = committed[committed["baseline"] == "baseline"]  # And no means over other factors.
    same = mine.index.intersection(committed.index)
    assert np.allclose(mine.loc[same, "diff"], committed.loc[same, "diff"], rtol=1e-4, atol=1e-7)
    if len(claims) == len(facts.claims) and facts.design == "one_factor" and facts.family == "all":
        runner_ups = {v.name for v in facts.variants if v.rivals}
        for key, row in committed.loc[same].iterrows():
            if not runner_ups & {row["baseline"], key[0]}:
                assert np.allclose(
                    mine.loc[key, NUMBERS[3:8]].astype(float), row[NUMBERS[3:8]].astype(float), rtol=1e-4
                )
                assert mine.loc[key, "verdict"] == row["verdict"] or row["exploratory"]


def rows(table: pd.DataFrame) -> RunTable:
    """As `read` gives them."""
    statuses = [name for name in table if name == "status"]
    beside = GIVEN | {"id": range(len(table)), "ended": ends_of(table, statuses).to_numpy()}
    return RunTable(pd.DataFrame(beside).assign(**table))


def judged(table: pd.DataFrame, **metric: float) -> pd.Series:
    found = evidence_of(rows(table), {"m": Metric("max", **metric)}, ASKED, "x")
    (row,) = compare(found).to_dict("records")
    return pd.Series(row)


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_run_that_failed_and_one_that_diverged_are_not_left_out():
    table = pd.DataFrame({"variant": list("aaaabbbb"), "seed": [*range(4)] * 2, "m": [*"1234", *"567", ""]})
    assert judged(table)["reason"].startswith("incomplete")
    apart = table.assign(seed=range(8))
    assert judged(apart)["reason"].startswith("incomplete")
    diverged = table.assign(m=[*"1234", *"567", "nan"])
    assert judged(diverged)["reason"] == "unstable diverged=1 counted=0"
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


def documents(d: np.ndarray, sources: np.ndarray | None = None) -> pd.DataFrame:
    """Two models, each evaluated once on the same documents, whose differences are `d`."""
    a = np.random.default_rng(6).normal(0.0, 1.0, len(d))
    table = pd.DataFrame({"variant": ["a"] * len(d) + ["b"] * len(d), "example": [*range(len(d))] * 2})
    table = table.assign(m=[*a, *(a + d)])
    return table if sources is None else table.assign(source=[*sources] * 2)


@pytest.mark.slow
def test_fixed_models_are_paired_by_document_and_clustered_by_source():
    rng = np.random.default_rng(5)
    source = rng.integers(0, 40, 200)
    d = rng.normal(0.1, 1.0, 200) + rng.normal(0.0, 1.0, 40)[source]
    one, paired = judged(documents(d)), stats.ttest_1samp(d, 0)
    assert (one["n"], one["p"]) == (200, pytest.approx(paired.pvalue, rel=1e-4))
    row = judged(documents(d, source))
    # The jackknife: the mean without each source in turn.
    names = np.unique(source)
    without = np.array([d[source != name].mean() for name in names])
    variance = (len(names) - 1) / len(names) * ((without - d.mean()) ** 2).sum()
    low, high = row["ci_low"], row["ci_high"]
    assert ((low + high) / 2, row["n"]) == (pytest.approx(d.mean()), 200)
    sizes = np.array([(source == name).sum() for name in names])
    a = 1 / (1 - sizes / 200)
    q = np.outer(a, a) * (np.diag(sizes) - np.outer(sizes, sizes) / 200)
    df = np.trace(q) ** 2 / np.trace(q @ q)
    assert row["p"] == pytest.approx(2 * stats.t.sf(abs(d.mean()) / variance**0.5, df))
    assert high - low == pytest.approx(2 * stats.t.isf(0.025, df) * variance**0.5)
    # Documents that are sources of their own are no clusters.
    assert judged(documents(d, np.arange(200)))["p"] == pytest.approx(one["p"])


@pytest.mark.slow
def test_one_source_decides_nothing_and_few_are_named():
    rng = np.random.default_rng(5)
    d = rng.normal(3.0, 1.0, 60)
    row = judged(documents(d, np.zeros(60, int)))
    assert (row["verdict"], row["reason"]) == ("inconclusive", "few sources=1 least=2")
    limitations = {}
    for number in (6, 30):
        table = documents(d, np.arange(60) % number)
        found = evidence_of(rows(table), {"m": Metric("max")}, ASKED, "x")
        _, limitations[number] = found.facts.cautions  # After how the runs were read.
    assert "60 documents in 6 sources" in limitations[6]
    assert ("few" in limitations[6], "few" in limitations[30]) == (True, False)


@pytest.mark.slow
def test_over_several_seeds_sources_are_the_examples():
    rng = np.random.default_rng(7)
    source = np.arange(60) // 3
    effect = rng.normal(0.3, 1.0, 20)[source]
    kept = []
    for variant, seed in [(v, s) for v in "ab" for s in range(4)]:
        m = rng.normal(0.0, 0.1, 60) + (effect if variant == "b" else 0.0)
        one = {"variant": variant, "seed": seed, "example": range(60), "source": source, "m": m}
        kept.append(pd.DataFrame(one))
    table = pd.concat(kept, ignore_index=True)
    means = table.groupby(["variant", "seed", "source"], as_index=False)["m"].mean()
    row, expected = judged(table), judged(means.rename(columns={"source": "example"}))
    assert row["diff"] == pytest.approx(expected["diff"])
    # The error over sources alone has fewer degrees of freedom, and the larger p and the wider interval count.
    for name in ("p", "ci_low", "ci_high"):
        assert row[name] == pytest.approx(expected[name], rel=0.01)
    assert row["p"] >= expected["p"]
