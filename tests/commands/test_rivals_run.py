"""Settings that tuning cannot tell from the chosen one, from study to verdict.

Of `twin` the settings differ by noise alone, of which `kind` has the same: at one setting wide is better by 0.1
exactly.
"""

from pathlib import Path

import pytest
from harness import ablate, ablate_here, made_again_alone
from searching import PEAK_STUDY, PEAKS, table_at

from ablate import load

TWINS = (
    PEAK_STUDY.replace("seeds: 3", "seeds: 5")
    + """\
model: {x: 0.3}
training: {lr: 1e-3, noise: 0.08}
variants:
  wide: {model.kind: wide}
placebo: on
tune:
  over: {model.twin: {choice: [0, 1, 2, 3]}}
  sampler: grid
"""
)
PLAIN_LOSES = TWINS.replace("{x: 0.3}", "{x: 0.3, kind: wide}").replace(
    "wide: {model.kind: wide}", "plain: {model.kind: plain}"
)


def judged(folder: Path):
    """The row of the first variant; the names of its rivals and the baseline's that were trained, with their seeds."""
    results = load(folder)
    runner_ups = results.evidence.other_trials("rivals", ["variant", "seed"])
    trained = {name: sorted(rows["seed"]) for name, rows in runner_ups.groupby("variant")}
    return results.comparisons.query("metric == 'score'").iloc[0], trained


@pytest.mark.slow
def test_a_rival_of_the_baseline_makes_inconclusive_what_the_chosen_setting_decides(tmp_path):
    (tmp_path / "study.yaml").write_text(TWINS)
    done = ablate_here("run", "study.yaml", "--jobs", 0, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    row, trained = judged(tmp_path / "results/peaks")
    assert (row["verdict"], row["reason"], round(row["diff"], 9)) == ("inconclusive", "rivals", 0.1)
    assert row["ci_low"] < 0 < 0.1 < row["ci_high"]
    # Wide does not lose, nor does the placebo: their own rivals are not asked for.
    assert trained == {f"baseline at model.twin={i}": [0, 1, 2, 3, 4] for i in (0, 1, 2)}
    assert row["settings"] == "model.twin=3"
    facts = {v.name: v for v in load(tmp_path / "results/peaks").evidence.facts.variants}
    assert len(facts["placebo"].rivals["peak"]) == 3
    page = (tmp_path / "results/peaks/report.md").read_text()
    assert "does not hold at every runner-up setting" in page
    made_again_alone(tmp_path / "results/peaks", tmp_path / "alone")
    assert "Nothing to train" in ablate_here("run", "study.yaml", cwd=tmp_path).stdout


@pytest.mark.slow
def test_what_a_variant_would_lose_asks_for_its_own_and_a_run_that_was_killed_meanwhile_goes_on(
    tmp_path, run
):
    killed, source = tmp_path / "killed", PEAKS.read_text().replace('"peaks")', '"killed")')
    place = "        top = height(trial.config)\n"
    assert place in source
    # In the third training of a rival of the variant the whole process ends, once.
    (tmp_path / "killed.py").write_text(
        source.replace(
            place,
            place
            + f'        once = "{killed}"\n'
            + '        if (model["kind"], model["twin"], trial.seed) == ("plain", 1, 2) and not os.path.exists(once):\n'
            + '            open(once, "w").close()\n            os.kill(os.getpid(), 9)\n',
        )
    )
    text = PLAIN_LOSES.replace("workload: peaks", "workload: killed").replace(str(PEAKS), "killed.py")
    (tmp_path / "study.yaml").write_text(text)
    assert ablate("run", "study.yaml", "--jobs", 0, "--results", "dead", cwd=tmp_path).returncode == -9
    assert killed.exists()
    assert "nothing to remove" in ablate("clean", "--results", "dead", cwd=tmp_path).stdout
    assert ablate("run", "study.yaml", "--jobs", 0, "--results", "dead", cwd=tmp_path).returncode == 0
    assert ablate("run", "study.yaml", "--jobs", 2, cwd=tmp_path).returncode == 0
    found, whole = judged(tmp_path / "dead/peaks"), judged(tmp_path / "results/peaks")
    assert found[0].equals(whole[0])
    assert found[1] == whole[1]
    assert (found[0]["verdict"], found[0]["reason"]) == ("inconclusive", "rivals")
    facts = {v.name: v.rivals["peak"] for v in load(tmp_path / "results/peaks").evidence.facts.variants}
    assert set(found[1]) == {*facts["baseline"], *facts["plain"]}
    assert len(facts["plain"]) == 3


@pytest.mark.slow
def test_every_look_asks_for_rivals_on_its_seeds(run):
    outcome, _ = run(PLAIN_LOSES.replace("seeds: 5", "seeds: {min: 3, max: 6}"))
    row, trained = judged(outcome.folder)
    assert (row["verdict"], row["look"]) == ("inconclusive", 2)
    assert trained["plain at model.twin=0"] == trained["baseline at model.twin=0"] == [0, 1, 2, 3, 4, 5]
    assert run(PLAIN_LOSES.replace("seeds: 5", "seeds: {min: 3, max: 6}"))[0].trained == 0


@pytest.mark.slow
def test_each_seed_may_choose_for_itself(run):
    outcome, _ = run(
        TWINS.replace("sampler: grid", "sampler: grid\n  each_seed: on").replace("placebo: on\n", "")
        + "claims: [wide beats baseline on score]\n"
    )
    assert not load(outcome.folder).claims.exploratory.any()
    assert outcome.trained == 2 * 4 * 5
    table, results = table_at(outcome.folder).trials, load(outcome.folder)
    assert results.evidence.other_trials("rivals", ()).empty
    for variant in ("baseline", "wide"):
        rows, mine = table[table.variant == variant], results.trials.query("variant == @variant")
        for place, seed in enumerate(range(5)):
            best = max(rows.itertuples(), key=lambda row: row.values[place])
            assert mine.set_index("seed").id[seed] == best.ids[place]
    assert len(set(table.loc[table.chosen == "wide", "model.twin"])) > 1
    page = (outcome.folder / "report.md").read_text()
    assert "4 settings, for each of 5 compared seeds by itself" in page
    assert "that no comparison uses" not in page


@pytest.mark.slow
def test_settings_of_each_seed_are_not_said_to_be_runner_ups(tmp_path):
    (tmp_path / "each.yaml").write_text(
        """
name: each
task: {name: digits, train_size: 200, validation_size: 100, test_size: 100}
model: {d_model: 16, num_layers: 1, mixer: {name: attention, num_heads: 2}, position: learned, norm: layer}
training: {steps: 5, batch_size: 8}
factors: {model.norm: [batch]}
tune: {over: {training.lr: {choice: [1e-3, 1e-2]}}, sampler: grid, each_seed: on}
seeds: 2
"""
    )
    done = ablate_here("run", "each.yaml", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "4 of 12 trials are not needed" in done.stdout
    assert "runner-up settings are trained" not in done.stdout
