"""The forms that verdicts over conditions take: `over`, `along`, `scale`, `family`, and claims on conditions."""

import pytest
from harness import TOY_STUDY, prepare, problems, toy_changed

from ablate.core.over import Over
from ablate.study.document import read_document
from ablate.study.facts import facts_of
from ablate.study.files import resolved_text

LADDER = """\
name: x
workload: {command: "python t.py --w {w} --s {s} --opt {opt} --seed {seed}", read: {loss: 'loss=(\\S+)'}}
config: {w: 256, s: 1000, opt: adamw}
metrics: {loss: {direction: min, margin: 0.005}}
factors: {config.opt: [muon]}
seeds: 2
"""
THREE = (
    "conditions: {w256: {}, w512: {config.w: 512, config.s: 2000}, w1024: {config.w: 1024, config.s: 4000}}\n"
)
TWO = "conditions: {w256: {}, w512: {config.w: 512}}\n"
MUON = "config.opt=muon beats baseline on loss"


@pytest.fixture
def ladder(write):
    """Writes a study of a command, with these lines beside its first six."""
    write("print('loss=1')", "t.py")
    return lambda text: write(LADDER + text)


def test_the_facts_say_how_conditions_are_taken_together(ladder):
    study = prepare(ladder(THREE + "over: every\nalong: config.w\nscale: {w256: 1, w512: 2, w1024: 2}\n"))
    facts = facts_of(study)
    assert facts.over == Over(
        "every",
        along="config.w",
        sizes={"w256": 256.0, "w512": 512.0, "w1024": 1024.0},
        scales={"w256": 1.0, "w512": 2.0, "w1024": 2.0},
    )
    assert facts.family == "all"
    assert facts_of(prepare(ladder(THREE))).over == Over()


def test_a_family_of_claims_is_a_fact(ladder):
    study = prepare(ladder(f"{THREE}family: ordered\nclaims: ['{MUON} at w256', '{MUON} at w512']\n"))
    assert facts_of(study).family == "ordered"


def test_the_resolved_study_says_what_is_given_alone(ladder, tmp_path):
    text = resolved_text(prepare(ladder(THREE)), tmp_path)
    assert not [key for key in ("over", "along", "scale", "family") if f"{key}:" in text]
    study = prepare(ladder(THREE + "over: mean\nalong: config.s\nscale: {w256: 1, w512: 2, w1024: 3}\n"))
    again = tmp_path / "again.yaml"
    again.write_text(resolved_text(study, tmp_path))
    assert facts_of(prepare(again)).over == facts_of(study).over
    assert read_document(again).data["over"] == "mean"


def test_an_option_changes_the_form(ladder):
    assert facts_of(prepare(ladder(THREE), sets=["over=every"])).over.form == "every"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "over: sample\n" + THREE,
            "line 7: over: is not an allowed value; given 'sample'; allowed: each, mean, every",
        ),
        (
            "over: mean\n",
            "line 7: over: is about several conditions, and the study has one. Add `conditions:`, or remove `over`",
        ),
        (
            "along: config.w\n",
            "line 7: along: is about several conditions, and the study has one. Add `conditions:`, or remove `along`",
        ),
        (
            "scale: {w256: 1}\n",
            "line 7: scale: is about several conditions, and the study has one. Add `conditions:`, or remove `scale`",
        ),
        (
            "over: every\nconditions: {every: {}, w512: {config.w: 512}}\n",
            "line 8: conditions.every: is what tables call a verdict over conditions; "
            "given 'every'; allowed: any name but mean, every, sample, trend. Rename the condition",
        ),
        (
            "along: config.w\n" + TWO,
            "line 7: along: needs 3 conditions or more, and the study has two; given 'config.w'. "
            "Remove `along`, and claim `A beats B on loss by more at w512 than at w256`",
        ),
        (
            "along: config.w\nconditions: {a: {}, b: {config.w: 512}, trend: {config.w: 1024}}\n",
            "line 8: conditions.trend: is what tables call a verdict over conditions; given 'trend'; "
            "allowed: any name but mean, every, sample, trend. Rename the condition",
        ),
        (
            "along: config.ww\n" + THREE,
            "line 7: along: the path does not exist: config has no 'ww'; given 'config.ww'; "
            "allowed: w, s, opt. Did you mean 'w'?",
        ),
        (
            "along: config.opt\n" + THREE,
            "line 7: along: must be a number in every condition, and is adamw in w256; given 'config.opt'; "
            "allowed: config.w, config.s",
        ),
        (
            "along: config.s\n" + THREE.replace("config.s: 2000", "config.s: 0"),
            "line 7: along: must be above 0 in every condition, and is 0 in w512; given 'config.s'; "
            "allowed: config.w",
        ),
        (
            "along: config.s\n" + THREE.replace(", config.s: 4000", ""),
            "line 7: along: must differ in each condition, and is 1000 in w256 and w1024; given 'config.s'; "
            "allowed: config.w",
        ),
        (
            "over: mean\nscale: {w25: 2, w512: 3}\n" + THREE,
            "line 8: scale.w25: is not a condition; given 'w25'; allowed: w256, w512, w1024. "
            "Did you mean 'w256'?",
        ),
        (
            "over: mean\nscale: {w256: 0}\n" + THREE,
            "line 8: scale.w256: must be greater than 0; given 0",
        ),
        (
            "over: mean\nscale: {w256: 2}\n" + THREE,
            "line 7: over: adds differences in loss, which has a range or a scale in w256, and neither in w512 and "
            "w1024; given 'mean'. Write `scale: {w512: NUMBER, w1024: NUMBER}`, the difference that counts as 1 in "
            "each",
        ),
        (
            "over: every\nscale: {w256: 2, w512: 1, w1024: 1}\n" + THREE,
            "line 8: scale: changes nothing: it is for `over: mean`, `along`, and claims `by more at NAME than at "
            "NAME`. Remove it",
        ),
        (
            "along: config\n" + THREE,
            "line 7: along: must lead to a number, and is a section in w256; given 'config'; "
            "allowed: config.w, config.s",
        ),
        (
            "family: claims\n" + THREE,
            "line 7: family: judges nothing but claims, and the study has none; given 'claims'; allowed: all. "
            "Add `claims:`, or remove `family`",
        ),
    ],
)
def test_a_mistake_says_what_is_wrong_and_what_to_do(ladder, text, problem):
    assert problems(ladder(text)) == [problem]


def test_a_condition_may_have_a_word_of_tables_where_each_is_judged(ladder):
    prepare(ladder("conditions: {mean: {}, trend: {config.w: 512}}\n"))


BUILT_IN = "name: x\nmodel: {d_model: 16, num_layers: 1}\nfactors: {model.norm: [batch]}\n"


@pytest.mark.slow
def test_runs_that_solve_a_task_or_do_not_have_no_mean(write):
    (problem,) = problems(write(BUILT_IN + "tasks: [recall, digits]\nover: mean\n"))
    assert problem == (
        "line 5: over: adds differences over conditions, and in recall a run solves the task or does not; "
        "given 'mean'. Write `over: every`, which judges each condition by itself"
    )
    prepare(write(BUILT_IN + "tasks: [recall, digits]\nover: every\n"))


@pytest.mark.slow
def test_tasks_are_conditions_with_names(write):
    claim = "model.norm=batch beats baseline on accuracy"
    tasks = "tasks: [digits, {name: adding_problem, seq_len: 8}, {name: adding_problem, seq_len: 9}]\n"
    claims = f"claims: ['{claim} at digits by 0.1', '{claim} at adding_problem(seq_len=8)']\n"
    study = prepare(write(BUILT_IN + tasks + claims))
    assert [claim.condition for claim in study.claims] == ["digits", "adding_problem(seq_len=8)"]


DESCRIBED = "return Description(self.metrics,"


@pytest.mark.parametrize(
    ("of_die", "refused"),
    [
        (
            "{'accuracy': Metric('min'), 'loss': Metric('min')}",
            "line 9: over: adds differences in accuracy, of which more is better in coin, and less in die; "
            "given 'mean'. Write `over: every`, which judges each condition by itself",
        ),
        (
            "{'loss': Metric('min')}",
            "line 9: over: is about accuracy, which is no metric of die; given 'mean'. "
            "Choose one that all conditions have, `metric: NAME`",
        ),
    ],
)
def test_differences_are_added_in_one_direction(write, tmp_path, of_die, refused):
    by_task = f"return Description({of_die} if config['task']['name'] == 'die' else self.metrics,"
    # A metric that solves the task has no mean only where runs are all or nothing.
    text = toy_changed(tmp_path, "several", (DESCRIBED, by_task))
    text = text.replace("task: {name: coin}", "tasks: [{name: coin}, {name: die}]").strip()
    assert refused in problems(write(f"{text}\nover: mean\n"))


def test_claims_name_conditions(ladder):
    claims = [
        f"{MUON} at w256 by 0.1",
        "config.opt=muon matches baseline on loss at w512 within 0.1",
        "config.opt=muon does not lose to baseline on loss at w512 within 0.1",
        f"{MUON} by more at w1024 than at w256",
        "config.opt=muon gains on config.opt=adamw on loss along config.w by 0.01",
        MUON,
    ]
    study = prepare(ladder(f"{THREE}along: config.w\nclaims: {claims}\n"))
    *single, more, gains, follows = study.claims
    assert [claim.condition for claim in single] == ["w256", "w512", "w512"]
    assert [claim.by for claim in single] == [0.1, 0.1, 0.1]
    assert (more.kind, more.condition, more.less.condition) == ("interaction", "w1024", "w256")
    assert more.sides == [["config.opt=muon"], ["baseline"]] * 2
    assert (gains.kind, gains.along, gains.by, gains.condition) == ("gains", "config.w", 0.01, "")
    assert (gains.a, gains.b) == (["config.opt=muon"], ["baseline"])
    assert (follows.condition, follows.along, follows.less) == ("", "", None)


def test_an_interaction_of_levels_stays_one(write):
    text = TOY_STUDY + "design: factorial\nconditions: {narrow: {}, wide: {model.width: 9}}\n"
    claim = "model.effect=0.2 beats baseline on loss by more at model.noise=0.3 than at model.noise=0.1"
    (interaction,) = prepare(write(f"{text}claims: ['{claim}']\n")).claims
    assert (interaction.condition, interaction.less.condition) == ("", "")


ALONG = f"{THREE}along: config.w\nover: mean\n"


@pytest.mark.parametrize(
    ("text", "claim", "problem"),
    [
        (
            TWO,
            f"{MUON} at w25",
            "line 8: claims[0]: unknown condition 'w25'; given {claim!r}; allowed: w256, w512. "
            "Did you mean 'w256'?",
        ),
        (
            TWO,
            f"{MUON} by more at w51 than at w256",
            "line 8: claims[0]: unknown condition 'w51'; given {claim!r}; allowed: w256, w512. "
            "Did you mean 'w512'?",
        ),
        (
            TWO,
            f"{MUON} by more at w512 than at w512",
            "line 8: claims[0]: takes two conditions, not w512 twice; given {claim!r}; allowed: w256, w512",
        ),
        (
            TWO,
            f"{MUON} by more at w512 than at config.w=256",
            "line 8: claims[0]: unknown condition 'config.w=256'; given {claim!r}; allowed: w256, w512",
        ),
        (
            TWO,
            "config.opt=muon gains on baseline on loss along config.w",
            "line 8: claims[0]: is along config.w, and the study does not say along which number its conditions "
            "differ; given {claim!r}. Add `along: config.w`",
        ),
        (
            ALONG,
            "config.opt=muon gains on baseline on loss along config.s",
            "line 10: claims[0]: is along config.s, and the conditions of the study differ along config.w; "
            "given {claim!r}. Write `along config.w`",
        ),
        (
            ALONG,
            "config.opt=muon gains on baseline on seed_spread along config.w",
            "line 10: claims[0]: a trend takes a metric of single runs, and seed_spread is computed over several; "
            "given {claim!r}. Claim the difference in each condition, `at NAME`",
        ),
        (
            ALONG,
            "config.opt=muon beats baseline on seed_spread",
            "line 10: claims[0]: is about seed_spread, which is computed over several runs, and has no mean over "
            "conditions; given {claim!r}. Write `on seed_spread at NAME`, for one condition",
        ),
    ],
)
def test_a_claim_on_conditions_their_mean_or_a_trend_says_what_is_wrong(ladder, text, claim, problem):
    assert problems(ladder(f"{text}claims: ['{claim}']\n")) == [problem.format(claim=claim)]


@pytest.mark.parametrize(
    ("claim", "hint"),
    [
        ("config.opt=muon gains on baseline on loss", "Add: along PATH"),
        (
            "config.opt=muon gains baseline on loss along config.w",
            "Write: config.opt=muon gains on baseline on loss along config.w",
        ),
        ("config.opt=muon matches baseline on loss at w256", "Add: within X"),
    ],
)
def test_a_text_that_is_nearly_a_claim_is_completed(ladder, claim, hint):
    (found,) = problems(ladder(f"{THREE}along: config.w\nclaims: ['{claim}']\n"))
    assert found.endswith(hint)


def test_a_condition_follows_the_metric(ladder):
    (found,) = problems(ladder(f"{THREE}claims: ['config.opt=muon beats baseline at w256 on loss']\n"))
    assert found.endswith("Write `on loss at w256`")


@pytest.mark.slow
def test_a_margin_of_the_mean_is_in_the_scaled_unit(write):
    tasks = f"{BUILT_IN}tasks: [digits, adding_problem]\nover: mean\n"
    claim = "model.norm=batch beats baseline on loss"
    # The loss of the adding problem has a range of 0.17.
    prepare(write(f"{tasks}metric: {{name: loss, margin: 0.2}}\nclaims: ['{claim} by 0.2']\n"))
    found = problems(
        write(
            f"{tasks}metric: {{name: loss, margin: 1.5}}\nclaims: ['{claim} by 1', '{claim} at digits by 3']\n"
        )
    )
    rule = "is in units of each condition's range or scale, of which no mean can exceed 1"
    assert found == [
        f"line 6: metric.margin: {rule}; given 1.5; allowed: less than 1",
        f"line 7: claims[0]: {rule}; given '{claim} by 1'; allowed: less than 1",
        "line 7: claims[1]: a margin must be less than the range of loss, or everything is equivalent; "
        f"given '{claim} at digits by 3'; allowed: less than 2.30259, the distance from guessing to the best loss",
    ]


def test_a_claim_on_a_condition_needs_conditions(ladder):
    (found,) = problems(ladder(f"claims: ['{MUON} at w256']\n"))
    assert "claims[0]: is about a condition, 'w256', and the study has none; given" in found


def test_what_is_wrong_with_the_judged_metric_is_said_once(write):
    claims = "claims: ['model.norm=batch beats baseline on accuracy']\n"
    (problem,) = problems(write(f"{BUILT_IN}tasks: [recall, digits]\nover: mean\n{claims}"))
    assert "line 5: over: " in problem


def test_a_claim_by_more_at_a_condition_is_not_of_runs_that_solve_a_task_or_do_not(write):
    claim = "model.norm=batch beats baseline on accuracy by more at digits than at recall"
    (problem,) = problems(write(f"{BUILT_IN}tasks: [recall, digits]\nclaims: ['{claim}']\n"))
    assert problem.endswith("Write `on accuracy at NAME`, for one condition")
