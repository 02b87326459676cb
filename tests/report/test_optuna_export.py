"""The searches of a study in a storage of Optuna's: one study each, with the values that were found."""

import optuna
import pytest
from made_evidence import study
from made_searches import after_search, searched

from ablate.report.export.optuna_export import export_searches

VALUES = {"baseline": [0.5, 0.7, 0.6], "a": [0.4, 0.8, 0.3]}
RATES = {variant: [1e-3, 1e-2, 3e-2] for variant in VALUES}
JUDGED = {"baseline": [0.5, 0.6, 0.55], "a": [0.8, 0.9, 0.81]}


@pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")
def test_each_search_is_a_study_with_its_values(tmp_path):
    url = f"sqlite:///{tmp_path / 'searches.db'}"
    names = export_searches(after_search(searched(VALUES, lrs=RATES), study(JUDGED)), url)
    assert len(names) == 2
    for name, values in zip(names, VALUES.values(), strict=True):
        trials = optuna.load_study(study_name=name, storage=url).trials
        assert [trial.value for trial in trials] == values
        assert [trial.params["training.lr"] for trial in trials] == RATES["a"]


def test_a_study_that_searched_nothing_writes_nothing(tmp_path):
    assert export_searches(study(JUDGED), f"sqlite:///{tmp_path / 'none.db'}") == []
    assert not list(tmp_path.iterdir())
