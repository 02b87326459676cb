"""The stress grid of a study; grids that are refused stand in tests/freeze/refused/stress.yaml."""

from harness import features, prepare

from ablate.study.document import read_document
from ablate.study.files import resolved_text

STUDY = """\
name: stress
task: recall
model: {d_model: 8, num_layers: 1, mixer: {num_heads: 2}}
factors: {model.norm: [batch]}
"""


def test_a_grid_is_read_in_order_and_survives_the_resolved_study(write):
    path = write(STUDY + "stress: {training.lr: [5, 1, 2]}\n")
    experiment = prepare(path)
    assert features(path)["stress"] == {"training.lr": [1.0, 2.0, 5.0]}
    again = write(resolved_text(experiment, path.parent), "again.yaml")
    assert prepare(again).config.stress == experiment.config.stress
    changed = prepare(path, sets=["stress.training.lr=[1e-4, 1e-3, 1e-2]"])
    assert changed.config.stress == {"training.lr": [1e-4, 1e-3, 1e-2]}
    plain = prepare(write(STUDY, "plain.yaml"))
    text = resolved_text(plain, path.parent)
    assert "stress" not in read_document(write(text, "resolved.yaml")).data
