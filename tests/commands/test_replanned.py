"""A plan that is changed after results is said so, beside the verdicts that it touches; other runs are named."""

import json
import shutil
from pathlib import Path

import pytest
from harness import TOY, ablate, ablate_here

from ablate.records.folder import StudyFolder

STUDY = f"""\
name: toy
workload: toy
plugins: [{TOY}]
task: {{name: coin}}
factors: {{model.effect: [0.2], model.noise: [0.1001]}}
metric: {{name: accuracy, margin: 0.02}}
seeds: 3
claims: [model.effect=0.2 beats baseline on accuracy, model.noise=0.1001 matches baseline on accuracy within 0.02]
"""
EFFECT, NOISE = "model.effect=0.2", "model.noise=0.1001"
MADE = STUDY


@pytest.fixture
def here(ran: Path) -> Path:
    """The folder of the study, which has run once."""
    return ran.parent


def report(here: Path, text: str, *options: object, name: str = "toy") -> dict:
    """Runs the study through the command line as it says now, and returns what `--json` has of it."""
    (here / "study.yaml").write_text(text)
    done = ablate_here("run", "study.yaml", "--jobs", 0, "--json", *options, cwd=here)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["study"] == name
    return found


def marks(found: dict, rows: str = "verdicts") -> dict[str, str | None]:
    """Row → what its plan says, of judged rows."""
    key = "claim" if rows == "claims" else "variant"
    return {row[key]: row["plan"] for row in found[rows] if not row["exploratory"]}


def answer(found: dict) -> str:
    return " ".join(found["answer"])


def facts(here: Path, name: str = "toy"):
    return StudyFolder(here / "results", name).facts().plan.replanned


@pytest.mark.slow
def test_the_first_plan_is_dated_and_changes_nothing(here):
    (plan,) = StudyFolder(here / "results", "toy").plans()
    store = [json.loads(path.read_text()) for path in (here / "results/store/trials").glob("*.json")]
    assert plan.declared <= min(record["started_at"] for record in store)
    assert (plan.seeds, plan.comparisons, plan.settings["metric.margin"]) == ([0, 1, 2], 2, 0.02)
    found = report(here, STUDY)
    assert {*marks(found).values(), *marks(found, "claims").values()} == {None}
    assert "after results" not in answer(found)
    assert "other run" not in answer(found)


@pytest.mark.slow
def test_a_margin_widened_after_results_marks_rows_until_it_is_restored(here):
    found = report(here, STUDY.replace("margin: 0.02", "margin: 0.06"))
    assert marks(found) == {EFFECT: "changed", NOISE: "changed"}
    assert marks(found, "claims") == dict.fromkeys(marks(found, "claims"))  # they have margins of their own
    assert "metric.margin 0.02 → 0.06" in answer(found)
    folder = here / "results/toy"
    line = "metric.margin 0.02 → 0.06"
    assert line in (folder / "report.md").read_text()
    assert line in (folder / "report.html").read_text()
    assert "changed after results" in (folder / "report.md").read_text()
    assert "declared after results existed" in (folder / "report.md").read_text()
    # What is up to date says it again, and so does a paper.
    again = ablate_here("run", "study.yaml", cwd=here)
    assert "is up to date" in again.stdout.replace("\n", " ")
    assert line in " ".join(again.stdout.split())
    assert "changed after results" in " ".join(again.stdout.split())
    done = ablate_here(
        "export", "toy", "--only", "methods", "--only", "comparisons", "--out", "paper", cwd=here
    )
    assert done.returncode == 0, done.stderr
    assert line in (here / "paper/methods.md").read_text()
    assert "changed after results" in (here / "paper/comparisons.tex").read_text()

    restored = report(here, STUDY)
    assert {*marks(restored).values()} == {None}
    assert "after results" not in answer(restored)


@pytest.mark.slow
def test_seeds_added_after_a_look_have_their_level(here):
    found = report(here, STUDY.replace("seeds: 3", "seeds: 6"))
    assert {*marks(found).values(), *marks(found, "claims").values()} == {"changed"}
    replanned = facts(here)
    assert (replanned.looked, replanned.chosen) == (["0–2"], False)
    assert replanned.level == pytest.approx(0.089, abs=0.002)
    assert "seeds 0–2 → 0–5" in answer(found)
    assert "0.09" in answer(found)
    report(here, STUDY.replace("seeds: 3", "seeds: 12"))
    assert facts(here).level == pytest.approx(0.125, abs=0.005)
    done = ablate_here("export", "toy", "--only", "methods", "--out", "paper", cwd=here)
    assert done.returncode == 0, done.stderr
    assert "fixed in advance" not in (here / "paper/methods.md").read_text()
    # On the seeds of the first plan it is itself again.
    report(here, STUDY)
    assert facts(here) is None


@pytest.mark.slow
def test_other_seeds_and_chosen_seeds_have_theirs_and_a_confirmation_has_none(here):
    name = "toy@seeds=5+6+7"
    report(here, STUDY, "--seeds", "5,6,7", name=name)
    assert facts(here, name).level == pytest.approx(0.0975, abs=0.002)
    report(here, STUDY, "--seeds", "0,2,6", name="toy@seeds=0+2+6")
    chosen = facts(here, "toy@seeds=0+2+6")
    assert (chosen.chosen, chosen.looked) == (True, ["0, 1, 2, 5, 6, 7"])
    assert chosen.level == pytest.approx(0.28, abs=0.01)
    # On the first and last of them: the plan as written comes first, and has not changed.
    found = report(here, STUDY, "--fresh")
    assert {*marks(found).values()} == {None}
    assert "2 other runs of these variants exist" in answer(found)
    assert name in answer(found)
    found = report(here, STUDY, "--confirm", name="toy@confirm")
    assert {*marks(found).values(), *marks(found, "claims").values()} == {None}
    assert "3 other runs" in answer(found)
    # Confirmed a second time, on other seeds: a second chance.
    again = report(here, STUDY, "--confirm", "--seeds", "6,7,8", name="toy@confirm,seeds=6+7+8")
    assert {*marks(again).values()} == {"changed"}
    assert facts(here, again["study"]).level == pytest.approx(0.0975, abs=0.002)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("seeds", "num_chosen", "level", "words"),
    [
        ("0,1,2,3,6,7,8,10,11,12", 7, 0.204, "7 of these seeds were chosen from seeds 0–9"),
        ("3,8", 2, 0.62, "2 of these seeds were chosen from seeds 0–9"),
        ("1,2,3,6,7,8", 0, 0.70, "These seeds were chosen from seeds 0–9"),
        # A range that goes on is no choice, and nor are the first seeds.
        ("5,6,7,8,9,10,11,12,13,14", 0, None, "The results on seeds 0–9 were seen before"),
        ("0,1,2", 0, None, "The results on seeds 0–9 were seen before"),
    ],
)
def test_chosen_seeds_are_chosen_beside_fresh_ones_and_two_are(
    run, tmp_path, seeds, num_chosen, level, words
):
    text = STUDY.replace("seeds: 3", "seeds: 10")
    run(text)
    name = f"toy@seeds={'+'.join(sorted(seeds.split(',')))}"
    found = report(tmp_path, text, "--seeds", seeds, name=name)
    replanned = facts(tmp_path, name)
    assert (replanned.chosen, replanned.num_chosen) == (level is not None, num_chosen)
    assert words in answer(found)
    if level is not None:
        assert replanned.level == pytest.approx(level, abs=0.012)
        # In the file itself they are no other seeds than those that were picked.
        (tmp_path / "study.yaml").unlink()
        found = report(tmp_path, text.replace("seeds: 10", f"seeds: [{seeds}]"))
        assert words in answer(found)


@pytest.mark.slow
@pytest.mark.parametrize("is_removed", [False, True])
def test_chosen_seeds_are_chosen_under_another_name_too(run, tmp_path, is_removed):
    text = STUDY.replace("seeds: 3", "seeds: 10")
    run(text)
    if is_removed:
        shutil.rmtree(tmp_path / "results/toy")
    for name, seeds, num_chosen, level in [
        ("final", "[1, 2, 3, 6, 7, 8]", 0, 0.70),
        # Renamed once more they are no other seeds than those that were picked.
        ("once_more", "[1, 2, 3, 6, 7, 8]", 0, 0.70),
        ("fresh_ones", "[0, 1, 2, 3, 6, 7, 8, 10, 11, 12]", 7, 0.204),
    ]:
        named = text.replace("name: toy\n", f"name: {name}\n", 1).replace("seeds: 10", f"seeds: {seeds}")
        found = report(tmp_path, named, name=name)
        replanned = facts(tmp_path, name)
        assert (replanned.chosen, replanned.num_chosen) == (True, num_chosen)
        assert replanned.level == pytest.approx(level, abs=0.012)
        assert "chosen from seeds 0–9" in answer(found)
    # A later change of the margin makes them no less chosen.
    found = report(tmp_path, named.replace("margin: 0.02", "margin: 0.03"), name=name)
    assert "7 of these seeds were chosen from seeds 0–9" in answer(found)


@pytest.mark.slow
@pytest.mark.parametrize(
    "seeds", ["10", "5", "[0, 1, 2, 3, 4, 10, 11]", "{from: 2, count: 9}", "{from: 5, count: 5}"]
)
def test_seeds_that_another_study_did_not_pick_are_not_chosen(run, tmp_path, seeds):
    text = STUDY.replace("seeds: 3", "seeds: 5")
    run(text)
    named = text.replace("name: toy\n", "name: final\n", 1).replace("seeds: 5", f"seeds: {seeds}")
    found = report(tmp_path, named, name="final")
    assert "chosen" not in answer(found)
    # What ran first was not chosen by what ran later.
    assert "chosen" not in answer(report(tmp_path, text))


@pytest.mark.slow
def test_a_raised_max_has_the_level_of_both_designs(run, tmp_path):
    looks = STUDY.replace("seeds: 3", "seeds: {min: 3, max: 6}")
    run(looks)
    found = report(tmp_path, looks.replace("max: 6", "max: 12"))
    assert {*marks(found).values()} == {"changed"}
    replanned = facts(tmp_path)
    assert replanned.looked == ["0–2 with looks at 3"]  # All is decided there.
    assert 0.04 < replanned.level < 0.07


@pytest.mark.slow
def test_only_seeds_that_ran_were_seen(run, tmp_path):
    # Each comparison is decided at the first look, so that later seeds have not run.
    looks = (
        STUDY.replace("0.2]", "2.0]")
        .replace("0.1001]", "0.1]")
        .replace("seeds: 3", "seeds: {min: 3, max: 9}")
    )
    looks = "\n".join(looks.replace(", model.noise: [0.1]", "").splitlines()[:-1])
    run(looks)
    found = report(tmp_path, looks.replace("{min: 3, max: 9}", "9"))
    replanned = facts(tmp_path)
    assert replanned.looked == ["0–2 with looks at 3"]
    assert "The results on seeds 0–2 with looks at 3 were seen before" in answer(found)


@pytest.mark.slow
def test_an_added_variant_touches_its_row_and_one_left_out_those_that_gain_by_it(here):
    found = report(here, STUDY.replace("[0.1001]", "[0.1001, 0.3]"))
    assert marks(found) == {EFFECT: None, NOISE: None, "model.noise=0.3": "added"}
    without = "\n".join(STUDY.replace(", model.noise: [0.1001]", "").splitlines()[:-1])
    found = report(here, f"{without}\nclaims: [{EFFECT} beats baseline on accuracy]\n")
    assert marks(found) == {EFFECT: "changed"}
    assert "comparisons 2 → 1" in answer(found)
    assert NOISE in answer(found)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new", "line", "claims"),
    [
        ("name: accuracy, margin", "name: loss, margin", "metric.name accuracy → loss", None),
        ("seeds: 3", "training: {steps: 5}\nseeds: 3", "training.steps 3 → 5", "changed"),
        ("factors:", "model: {width: 8}\nfactors:", "model.width 4 → 8", "changed"),
        ("seeds: 3", "training: {note: a word}\nseeds: 3", "", None),
        ("seeds: 3", "notes: a word\nseeds: 3", "", None),
    ],
)
def test_metric_budget_and_baseline(here, old, new, line, claims):
    found = report(here, STUDY.replace(old, new, 1))
    assert {*marks(found).values()} == {"changed" if line else None}
    assert line in answer(found)
    assert {*marks(found, "claims").values()} == {claims}


@pytest.mark.slow
def test_options_are_another_plan_and_a_single_seed_is_none(run, tmp_path, write):
    # A try of one seed has no verdict, and nothing to change.
    run(STUDY, seeds=1, sets=["training.steps=2"])
    run(STUDY, seed=0)
    found = report(tmp_path, STUDY)
    assert {*marks(found).values()} == {None}
    name = "toy@training.steps=5"
    found = report(tmp_path, STUDY, "--set", "training.steps=5", name=name)
    assert {*marks(found).values()} == {"changed"}
    assert facts(tmp_path, name).level is None  # other runs, on the same seeds
    found = report(tmp_path, STUDY, "--only", EFFECT, name=f"toy@only={EFFECT}")
    assert {*marks(found).values()} == {None}


@pytest.mark.slow
def test_a_single_seed_beside_others_in_the_store_has_a_plan(here):
    wider = STUDY.replace("margin: 0.02", "margin: 0.06")
    name = "toy@seed=2"
    found = report(here, wider, "--seed", 2, name=name)
    assert {*marks(found).values()} == {"changed"}
    assert "metric.margin 0.02 → 0.06" in answer(found)
    assert {*marks(report(here, STUDY, "--seed", 2, name=name)).values()} == {None}
    assert {*marks(report(here, STUDY)).values()} == {None}


@pytest.mark.slow
def test_seeds_that_are_trained_one_by_one_are_those_of_the_first_plan(tmp_path):
    for seed in range(3):
        found = report(tmp_path, STUDY, "--seed", seed, name=f"toy@seed={seed}")
        assert {*marks(found).values()} == {None}
    assert {*marks(report(tmp_path, STUDY)).values()} == {None}
    found = report(tmp_path, STUDY.replace("seeds: 3", "seeds: 2"))
    assert {*marks(found).values()} == {"changed"}


@pytest.mark.slow
def test_a_claim_restored_to_its_first_words_is_itself_again(here):
    first = {row["claim"]: row["declared"] for row in report(here, STUDY)["claims"]}
    edited = STUDY.replace("within 0.02]", "within 0.05]")
    changed = {row["claim"]: row for row in report(here, edited)["claims"]}
    assert [row["exploratory"] for row in changed.values()] == [False, True]
    restored = report(here, STUDY)["claims"]
    assert {row["claim"]: row["declared"] for row in restored} == first
    assert not any(row["exploratory"] for row in restored)
    assert {*marks({"claims": restored}, "claims").values()} == {None}


@pytest.mark.slow
def test_a_report_that_was_up_to_date_names_a_run_that_came_after_it(here):
    report(here, STUDY, "--seeds", 4, name="toy@seeds=4")
    assert "not counted: toy@seeds=4" in answer(report(here, STUDY))


@pytest.mark.slow
def test_other_studies_with_the_variants_and_seeds_that_no_report_has_are_named(here):
    other = STUDY.replace("name: toy\n", "name: other\n", 1).replace("margin: 0.02", "margin: 0.06")
    found = report(here, other, name="other")
    assert "not counted" not in answer(found)
    assert "Other reports use runs of this one, as those of its baseline: toy." in answer(found)
    # Its trials on seeds that its study has no more.
    report(here, STUDY.replace("seeds: 3", "seeds: {from: 20, count: 3}"))
    found = report(here, STUDY)
    assert "not counted: seeds 20–22 in the store" in answer(found)
    assert "those of its baseline: other." in answer(found)
    # Another model is another study.
    found = report(here, STUDY.replace("name: toy\n", "name: wide\nmodel: {width: 8}\n", 1), name="wide")
    assert "not counted" not in answer(found)


@pytest.mark.slow
def test_a_killed_first_run_has_its_plan_and_an_untrained_one_is_replaced(tmp_path, write):
    study = write(
        STUDY.replace("seeds: 3", "training: {fault: kill, fault_seed: 1, seconds: 0.01}\nseeds: 3")
    )
    killed = ablate("run", study, "--jobs", 0, cwd=tmp_path)
    assert killed.returncode == -9
    folder = StudyFolder(tmp_path / "results", "toy")
    assert not folder.has_report
    (plan,) = folder.plans()
    found = report(tmp_path, STUDY.replace("margin: 0.02", "margin: 0.06"))
    assert "metric.margin 0.02 → 0.06" in answer(found)
    assert [other.hash for other in folder.plans()][:1] == [plan.hash]

    unread = write(STUDY.replace("name: toy\n", "name: never\ntraining: {fault: kill}\n", 1), "never.yaml")
    assert ablate("run", unread, "--jobs", 0, cwd=tmp_path).returncode == -9
    (plan,) = StudyFolder(tmp_path / "results", "never").plans()
    unread.write_text(unread.read_text().replace("fault: kill", "fault: none").replace("0.02}", "0.06}"))
    done = ablate_here("run", unread, "--jobs", 0, "--json", cwd=tmp_path)
    assert {*marks(json.loads(done.stdout)).values()} == {
        "known"
    }  # by the study before, which trained the same
    (only,) = StudyFolder(tmp_path / "results", "never").plans()
    assert only.hash != plan.hash


def test_results_that_are_older_than_the_plan_are_named_and_a_damaged_one_stops_the_run(here):
    path = here / "results/toy/plan.json"
    path.unlink()
    found = report(here, STUDY.replace("margin: 0.02", "margin: 0.06"))
    assert {*marks(found).values()} == {"known"}
    assert "Results of effect 0.2 and noise 0.1001 predate the first plan" in answer(found)
    exported = ablate_here("export", "toy", "--only", "methods", cwd=here)
    assert exported.returncode == 0, exported.stderr
    assert "fixed in advance" not in (here / "results/toy/paper/methods.md").read_text()
    path.write_text('[{"declared": "2026"')
    (here / "study.yaml").write_text(STUDY)
    done = ablate_here("run", "study.yaml", "--jobs", 0, cwd=here)
    assert (done.returncode, str(path.relative_to(here)) in done.stderr) == (2, True)
