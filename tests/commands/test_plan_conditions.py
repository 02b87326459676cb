"""`ablate plan` of a study with conditions: what they cost, and what verdicts over them can detect."""

import json
from dataclasses import replace

import pytest
from harness import TOY, ablate_here

from ablate.analysis.prospects import Outlook, Power, Prospect
from ablate.report.sentences.prospects import power_parts

SCRIPT = """\
import argparse, random
parser = argparse.ArgumentParser()
for name in ("--w", "--steps", "--seed"):
    parser.add_argument(name, type=int)
parser.add_argument("--lr", type=float)
parser.add_argument("--opt")
given = parser.parse_args()
noise = random.Random(f"{given.seed} {given.w} {given.opt}").gauss(0, 0.01)
print(f"loss={3 - given.w / 2000 - 0.1 * (given.opt == 'muon') + noise:.5f}")
"""
LADDER = r"""
name: ladder
workload: {command: "python t.py --w {w} --steps {s} --lr {lr} --opt {opt} --seed {seed}", read: {loss: 'loss=(\S+)'}}
config: {w: 256, s: 1000, lr: 1e-3, opt: adamw}
metrics: {loss: {direction: min, margin: 0.005}}
factors: {config.opt: [muon]}
conditions: {w256: {}, w512: {config.w: 512, config.s: 2000}, w1024: {config.w: 1024, config.s: 4000}}
over: every
along: config.w
tune: {over: {config.lr: {choice: [3e-4, 1e-3]}}, sampler: grid, at: w256}
"""
TOY_CONDITIONS = f"""
name: sizes
workload: toy
plugins: [{TOY}]
task: {{name: coin}}
factors: {{model.effect: [0.2], model.noise: [0.3]}}
seeds: 3
conditions: {{a: {{}}, b: {{model.width: 5}}, c: {{model.width: 6}}, d: {{model.width: 7}}, e: {{model.width: 8}}}}
"""


@pytest.fixture
def here(tmp_path):
    """Returns a function that plans a study, and returns what it says in one line, or as data."""

    def plan(text, *options):
        (tmp_path / "t.py").write_text(SCRIPT)
        (tmp_path / "study.yaml").write_text(text)
        done = ablate_here("plan", "study.yaml", *options, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout) if "--json" in options else " ".join(done.stdout.split())

    return plan


def test_a_ladder_on_a_script_says_what_it_costs_and_what_each_form_detects(here):
    said = here(LADDER)
    assert "w1024 0 5" in said
    assert (
        "3 conditions, each with 10 trials: w256, w512 and w1024. `--condition NAME` trains one of them"
        in said
    )
    assert (
        "5 seeds detect, in standard deviations of a difference: 2.3 in any one condition (`over: each`), 0.97 in "
        "the mean of all 3 (`over: mean`) and 2.1 in all 3 at once (`over: every`); and, along config.w, 1.2 a "
        "doubling. Each has 80 % power where conditions vary independently." in said
    )
    assert "in loss in each of 3 conditions" not in said, "which of every one says little"
    assert "is about these conditions together" not in said


def test_a_plan_proposes_the_mean_from_five_conditions_on(here):
    said = here(TOY_CONDITIONS)
    proposal = (
        "If the question is about these conditions together, `over: mean` finds much smaller effects. "
        "Choose it before the first trial."
    )
    assert proposal in said
    assert proposal not in here(TOY_CONDITIONS, "--set", "over=mean")
    assert proposal not in here(TOY_CONDITIONS, "--set", "over=every")
    four = TOY_CONDITIONS.replace(", e: {model.width: 8}", "")
    assert proposal not in here(four)


def test_the_effects_of_the_forms_take_the_claims_into_account(here):
    claim = "model.effect=0.2 beats baseline on accuracy"
    alone = here(TOY_CONDITIONS, "--json")["conditions"]
    on_a_row = here(f"{TOY_CONDITIONS}claims: ['{claim}']\n", "--json")["conditions"]
    assert on_a_row["effects"]["mean"] == alone["effects"]["mean"]
    assert on_a_row["effects"]["each"] > alone["effects"]["each"]
    in_one = here(f"{TOY_CONDITIONS}claims: ['{claim} at a']\n", "--json")["conditions"]
    assert in_one["effects"]["mean"] > alone["effects"]["mean"]
    assert in_one["effects"]["each"] == alone["effects"]["each"]


@pytest.mark.parametrize("family", ["claims", "ordered"])
def test_claims_alone_share_the_level_where_the_study_says_so(here, family):
    claims = [f"model.{factor} beats baseline on accuracy" for factor in ("effect=0.2", "noise=0.3")]
    of_all = here(f"{TOY_CONDITIONS}claims: {claims}\n", "--json")["conditions"]
    found = here(f"{TOY_CONDITIONS}claims: {claims}\nfamily: {family}\n", "--json")["conditions"]
    assert (found["effects"]["mean"] < of_all["effects"]["mean"]) == (family == "ordered")
    said = here(f"{TOY_CONDITIONS}claims: {claims}\nfamily: {family}\n")
    assert "`over: each`" not in said
    assert "is about these conditions together" not in said


@pytest.mark.slow
def test_one_seed_and_runs_that_solve_a_task_or_do_not_have_no_effects(here):
    assert here(TOY_CONDITIONS, "--json", "--seeds", 1)["conditions"]["effects"] is None
    tasks = "name: x\nmodel: {d_model: 16, num_layers: 1}\nfactors: {model.norm: [batch]}\ntasks: [recall, mqar]\n"
    found = here(tasks, "--json")["conditions"]
    assert found["effects"] is None
    shares = [cost["compute_share"] for cost in found["costs"]]
    assert sum(shares) == pytest.approx(1)
    assert "recall (" in here(tasks)


def test_a_study_with_one_condition_has_no_such_plan(here):
    assert "conditions" not in here(TOY_CONDITIONS.partition("conditions:")[0], "--json")


def test_a_plan_says_what_more_test_examples_would_save():
    known = [Prospect("a", 3, 0.1, 0.2, test_share=share, seeds_with_more=2.6) for share in (0.6, 0.64, 0.7)]
    power = Power(
        "loss", 5, 3, 0, 0.0167, 1, "the store", [Outlook("t", "loss", None, False, prospects=known)]
    )
    _, said, _ = power_parts(power, {})
    assert said == (
        "5 seeds detect a difference of 0.20 in loss with 80 % power. 64 % of the variance of the median difference is "
        "noise of the fixed test set: with four times as many examples, 3 seeds detect as much as 5 do now."
    )
    as_many = [replace(prospect, seeds_with_more=4.2) for prospect in known]
    power = replace(power, tasks=[Outlook("t", "loss", None, False, prospects=as_many)])
    _, said, _ = power_parts(power, {})
    assert "noise" not in said


@pytest.mark.slow
def test_known_trials_tell_what_the_mean_detects(here, tmp_path):
    here(TOY_CONDITIONS)
    ran = ablate_here("run", "study.yaml", "--jobs", 0, cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    found = here(TOY_CONDITIONS + "over: mean\n", "--json")
    (of_mean,) = found["power"]["tasks"]
    assert of_mean["conditions"] == 5
    assert [one["pairs"] for one in of_mean["prospects"]] == [3, 3]
    each = here(TOY_CONDITIONS, "--json")["power"]["tasks"]
    # Its differences do not vary, so that the resolution of the metric is their spread.
    assert of_mean["prospects"][0]["spread"] == pytest.approx(each[0]["prospects"][0]["spread"] / 5**0.5)
    said = here(TOY_CONDITIONS + "over: mean\n")
    assert "in the mean of accuracy over 5 conditions with 80 % power" in said
    assert "of training)" in said
