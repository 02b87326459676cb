"""Failed trials that stand for no run of a variant are not counted as its own."""

from harness import TOY_CLAIMED, prepare

from ablate.core.other_looks import SupersededRuns
from ablate.core.record import Record
from ablate.pipeline.evidence.other_runs import StoredTrial, key_of_config
from ablate.pipeline.evidence.trained_again import count_superseded
from ablate.records.folder import StudyFolder
from ablate.records.store import Store


def test_a_failed_placebo_is_no_failure_of_the_baseline_whose_config_it_has(write, tmp_path):
    study = prepare(write(TOY_CLAIMED))
    placebos = {variant.name for variant in study.variants if variant.placebo}
    cells = study.cells()
    records: dict[str, Record] = {}
    stored_trials: list[StoredTrial] = []
    for cell in cells:
        status = "failed" if cell.variant in placebos else "completed"
        records[cell.id] = Record(cell.id, cell.trial.config, cell.seed, status)
        if status == "failed":
            stored_trials.append(
                StoredTrial(cell.id, key_of_config(cell.trial.config), cell.seed, status, cell.id)
            )
    assert stored_trials
    folder = StudyFolder(tmp_path / "results", "toy")
    store = Store(tmp_path / "results/store")
    assert count_superseded(study, cells, records, folder, store, stored_trials) == {}

    # Another failed trial of that config and seed is one of the baseline.
    elsewhere = [
        StoredTrial("0" * 16, stored.config, stored.seed, "failed", "0" * 16) for stored in stored_trials
    ]
    counts = count_superseded(study, cells, records, folder, store, elsewhere)
    assert counts == {"baseline": SupersededRuns(failed=3, replaced=0)}
