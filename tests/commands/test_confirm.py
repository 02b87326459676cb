"""`ablate run --confirm`: what a study found, again on seeds that it has not seen, beside its report."""

from pathlib import Path

import pandas as pd
import pytest
from harness import TOY_CLAIMED, TOY_STUDY, ablate_here, clean_here, plan_here, prepare, report_here
from searching import PEAK_STUDY

from ablate import load
from ablate.base.errors import AblateError
from ablate.commands.show import show
from ablate.pipeline.confirm import NothingDecided, _notes_on_examples
from ablate.records.folder import StudyFolder
from ablate.records.store import Store
from ablate.report.words import message
from ablate.tracking.ui import bring_up_to_date

MADE = STUDY = TOY_CLAIMED.replace("[0.1, 0.3]", "[0.1001, 0.9]").replace("noise=0.3", "noise=0.9")
"""The effect is found, the small change of noise is equivalent, the large one settles nothing."""
TUNED = (
    PEAK_STUDY
    + """\
variants:
  wide: {model.kind: wide}
tune:
  over: {training.lr: {float: [1e-5, 1e-1], log: true}}
  trials: 3
"""
)
SWEPT = TUNED.replace("tune:", "search:") + "  seeds: 1\n"


@pytest.fixture(scope="module")
def confirmed(made: Path) -> Path:
    """The results of the study, confirmed through the command line."""
    done = ablate_here("run", "study.yaml", "--confirm", "--jobs", 0, cwd=made)
    assert done.returncode == 0, done.stderr
    said = " ".join(done.stdout.split())
    assert "on seeds 3–5 what toy decided on seeds 0–2 (2 comparisons and 1 claim)" in said
    return made / "results"


@pytest.fixture
def here(confirmed: Path, ran: Path) -> Path:
    """A copy of them; `run` goes on in it."""
    return ran


def test_what_was_decided_is_judged_again_on_other_seeds(confirmed):
    first, again = load(confirmed / "toy"), load(confirmed / "toy@confirm")
    verdicts = first.comparisons[~first.comparisons.exploratory].set_index("variant").verdict
    assert verdicts.to_dict() == {
        "model.effect=0.2": "better", "model.noise=0.1001": "equivalent", "model.noise=0.9": "inconclusive",
        "placebo": "inconclusive",
    }  # fmt: skip
    before, facts = first.evidence.facts, again.evidence.facts
    assert (before.seeds, len(before.variants), before.cautions) == ([0, 1, 2], 5, [])
    assert (facts.study, facts.seeds) == ("toy@confirm", [3, 4, 5])
    assert [v.name for v in facts.variants] == [
        "baseline", "model.effect=0.2", "model.noise=0.1001", "placebo",
    ]  # fmt: skip
    assert set(again.trials.seed) == {3, 4, 5}
    assert not set(again.trials.id) & set(first.trials.id)
    primary = again.comparisons[again.comparisons.metric == "accuracy"].set_index("variant")
    assert primary.verdict[["model.effect=0.2", "model.noise=0.1001"]].tolist() == ["better", "equivalent"]
    assert facts.cautions[0].startswith("repeats on seeds 3–5 what toy decided")
    # Its claims are those that were settled, dated before its first trial.
    (claim,) = StudyFolder(confirmed, "toy@confirm").claims()
    found = (claim["claim"], claim["verdict"], claim["exploratory"])
    assert found == ("model.effect=0.2 beats baseline on accuracy", "supported", "False")
    store = Store(confirmed / "store", read_only=True)
    records = [store.load(trial) for trial in again.trials.id]
    assert claim["declared"] < min(record.started_at for record in records if record is not None)


@pytest.mark.slow
def test_the_same_again_trains_nothing_and_options_go_beside_it_or_are_refused(here, run):
    # The first run in this folder notes what its report was made from.
    assert run(STUDY, confirm=True)[0].trained == 0
    outcome, printed = run(STUDY, confirm=True)
    assert "toy@confirm" in printed
    assert "Nothing to train" in printed
    outcome, _ = run(STUDY + "notes: A new word changes nothing.\n", confirm=True, seeds=3)
    assert (outcome.trained, outcome.folder) == (0, here / "toy@confirm")
    outcome, printed = run(STUDY, confirm=True, seeds=2)
    assert outcome.folder == here / "toy@confirm,seeds=2"
    assert (load(outcome.folder).evidence.facts.seeds, outcome.trained) == ([3, 4], 0)
    assert f"in seeds=2: it reports in {here}/toy@confirm,seeds=2/." in printed
    with pytest.raises(AblateError, match=r"differs from the study that .*/toy reports, in training; run it"):
        run(STUDY, confirm=True, sets=["training.steps=5"])
    with pytest.raises(AblateError, match=r"--seeds 2,9: .*/toy used 2 already; give other seeds"):
        run(STUDY, confirm=True, seeds=(2, 9))
    outcome, printed = run(STUDY, confirm=True, seeds=(5, 9))
    assert outcome.folder == here / "toy@confirm,seeds=5+9"
    assert "on seeds 5, 9 what toy decided on seeds 0–2" in printed
    assert outcome.trained == 4


@pytest.mark.slow
def test_a_run_that_differed_is_confirmed_from_its_own_study(here, run):
    differing, _ = run(STUDY, seeds=2)
    outcome, _ = run(differing.folder / "study.yaml", results=here, confirm=True)
    assert outcome.folder == here / "toy@seeds=2,confirm"
    assert load(outcome.folder).evidence.facts.seeds == [2, 3]
    # And again from that one's own, without the option.
    again, _ = run(outcome.folder / "study.yaml", results=here)
    assert (again.folder, again.trained) == (outcome.folder, 0)


@pytest.mark.slow
def test_every_command_copes_with_its_name(here, run, tmp_path):
    outcome, _ = run(here / "toy@confirm/study.yaml", results=here)
    assert (outcome.trained, outcome.folder.name) == (0, "toy@confirm")
    assert load(outcome.folder).evidence.facts.seeds == [3, 4, 5]
    trial = load(here / "toy@confirm").trials.id[0]
    command = f"ablate run {here}/toy@confirm/study.yaml --only baseline --seed 3 --fresh"
    assert command in show(trial, here, pytest.fail)
    assert "toy@confirm/report.html" in report_here(Path("toy@confirm"), here)
    planned = plan_here(tmp_path / "study.yaml", confirm=True)
    assert "toy@confirm: 4 variants" in planned
    assert message("plan.cached") in planned
    assert "nothing to remove; all 27 trials belong to a study" in clean_here(here, agree=False)[0]
    bring_up_to_date(here, pytest.fail)


@pytest.mark.slow
def test_a_study_without_a_report_or_without_a_verdict_is_refused(run, tmp_path, write):
    text = TOY_STUDY.replace("[0.2]", "[0.0001]").replace("[0.1, 0.3]", "[0.2]")
    with pytest.raises(AblateError, match="toy: has no report that could be confirmed; run toy first"):
        run(text, confirm=True)
    run(text)
    with pytest.raises(NothingDecided, match="has decided no comparison on accuracy and no claim"):
        run(text, confirm=True)
    assert not (tmp_path / "results/toy@confirm").exists()
    done = ablate_here("run", write(text), "--confirm", cwd=tmp_path)
    assert (done.returncode, "Nothing to confirm" in done.stderr) == (0, True)


@pytest.mark.slow
def test_seeds_that_would_tune_are_refused(run):
    late = f"{STUDY}seeds: {{from: 9996, count: 3}}\n".replace("seeds: 3\n", "")
    run(late)
    with pytest.raises(AblateError, match="used seeds up to 9998, and 3 more would reach 10000"):
        run(late, confirm=True)


def test_seeds_that_are_named_may_be_before_those_that_were_used(run):
    later = f"{STUDY}seeds: {{from: 5, count: 3}}\n".replace("seeds: 3\n", "")
    run(later)
    outcome, _ = run(later, confirm=True, seeds=[0, 1, 2])
    assert load(outcome.folder).evidence.facts.seeds == [0, 1, 2]
    from_its_file, _ = run(outcome.folder / "study.yaml", results=outcome.folder.parent)
    assert (from_its_file.folder, from_its_file.trained) == (outcome.folder, 0)


def test_a_number_of_seeds_follows_the_last_that_was_used(run):
    scattered = f"{STUDY}seeds: [5, 9, 11]\n".replace("seeds: 3\n", "")
    run(scattered)
    outcome, _ = run(scattered, confirm=True, seeds=3)
    assert load(outcome.folder).evidence.facts.seeds == [12, 13, 14]


@pytest.mark.slow
def test_what_was_tuned_is_tuned_again_on_other_tuning_seeds(run):
    first = load(run(TUNED)[0].folder)
    outcome, _ = run(TUNED, confirm=True)
    again = load(outcome.folder)
    assert outcome.trained == 2 * 3 * 3 + 2 * 3
    assert not {*first.searched.ids.explode()} & {*again.searched.ids.explode()}
    assert "tuned again" in again.evidence.facts.cautions[0]
    assert run(TUNED, confirm=True)[0].trained == 0
    assert run(outcome.folder / "study.yaml", results=outcome.folder.parent)[0].trained == 0


@pytest.mark.slow
def test_the_settings_that_a_sweep_chose_are_used_and_not_sought_again(run):
    names = ["baseline", "winner"]
    first = load(run(SWEPT, sweep=True)[0].folder)
    outcome, _ = run(SWEPT, confirm=True)
    again = load(outcome.folder)
    assert outcome.trained == len(names) * 3
    assert [v.name for v in again.evidence.facts.variants] == names
    assert [v.tuned for v in again.evidence.facts.variants] == [
        v.tuned for v in first.evidence.facts.variants if v.name in names
    ]
    levels = [name for name in first.trials if name.startswith(("training.", "model."))]
    for name in names:
        settings = [
            frame.trials[frame.trials.variant == name][levels].drop_duplicates() for frame in (first, again)
        ]
        pd.testing.assert_frame_equal(*(found.reset_index(drop=True) for found in settings))
    assert len(again.searched) == 0
    assert "with the settings that it chose" in again.evidence.facts.cautions[0]
    assert run(outcome.folder / "study.yaml", results=outcome.folder.parent)[0].trained == 0


@pytest.mark.slow
def test_what_was_matched_is_matched_again(run):
    text = STUDY + "match: {parameters: 8, by: model.width}\n"
    run(text)
    outcome, _ = run(text, confirm=True)
    rows = load(outcome.folder).evidence.facts.features["match"]["rows"]
    assert [row["value"] for row in rows] == [8] * len(load(outcome.folder).evidence.facts.variants)
    assert run(outcome.folder / "study.yaml", results=outcome.folder.parent)[0].trained == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("split", "word"), [("fixed", "test examples are those of"), ("per_seed", "from the pool of")]
)
def test_on_a_pool_of_examples_it_confirms_over_seeds_alone(run, split, word):
    text = f"""\
name: pool
task: {{name: digits, representation: rows, split: {split}, train_size: 200, validation_size: 16, test_size: 64}}
model: {{d_model: 8, num_layers: 1, mixer: {{num_heads: 2}}}}
training: {{steps: 60, batch_size: 32, lr: 1e-2}}
metric: {{name: loss, margin: 1}}
factors: {{model.position: [none]}}
seeds: 3
"""
    comparisons = load(run(text)[0].folder).comparisons
    assert set(comparisons.verdict[comparisons.metric == "loss"]) == {"equivalent"}
    facts = load(run(text, confirm=True)[0].folder).evidence.facts
    assert facts.seeds == [3, 4, 5]
    assert any("over seeds, not over examples" in caution and word in caution for caution in facts.cautions)


@pytest.mark.parametrize(
    ("conditions", "where"),
    [
        ("task: digits\nconditions: {short: {}, long: {training.steps: 80}}\n", "confirms over seeds"),
        ("tasks: [digits, recall]\n", "confirms on digits over seeds"),
    ],
)
def test_conditions_on_the_same_examples_have_one_sentence(write, tmp_path, conditions, where):
    model = "model: {d_model: 8, num_layers: 1, mixer: {num_heads: 2}}\nfactors: {model.norm: [batch]}\nseeds: 3\n"
    study = prepare(write(f"name: pool\n{conditions}{model}"))
    [note] = _notes_on_examples(study, StudyFolder(tmp_path, "pool"))
    assert note == f"{where}, not over examples: its test examples are those of pool"
