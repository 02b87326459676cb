"""Tables and labelled texts of a user's own."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.metrics import f1_score
from statsmodels.api import OLS, add_constant

from ablate.base.datafile import DataFile
from ablate.tasks.files import PADDING, UNKNOWN
from ablate.tasks.pool import Pool
from ablate.tasks.table import LabelOfRow
from ablate.tasks.text_classification import TextClassification


def built(part: type[Pool], folder: Path, content: str, **settings) -> Pool:
    (folder / "data.csv").write_text(content)
    file = DataFile(str(folder / "data.csv"), "data.csv")
    return part.Config(name=part.name, file=file, **settings).build()


def table(folder: Path, header: str, rows, **settings) -> Pool:
    return built(
        LabelOfRow, folder, "\n".join([header, *(",".join(map(str, row)) for row in rows)]), **settings
    )


def reviews(folder: Path, rows, **settings) -> Pool:
    lines = "\n".join(f"{label},{text}" for label, text in rows)
    return built(TextClassification, folder, f"label,text\n{lines}", **settings)


def judged(task: Pool, logits: np.ndarray) -> dict[str, float]:
    measured = task.measure(torch.from_numpy(logits), task.split(0, "test", "cpu"))
    return task.summarise({name: values.numpy() for name, values in measured.items()})


@pytest.mark.slow
def test_least_squares_on_a_real_table_explain_as_much_as_its_residuals_say():
    """RAND's health insurance experiment: visits to a doctor, of 20,190 rows; many are alike in all columns."""
    folder = Path(importlib.util.find_spec("statsmodels").origin).parent / "datasets" / "randhie"
    task = LabelOfRow.Config(name="table", file=DataFile(str(folder / "randhie.csv")), target="mdvis").build()
    assert (task.support, task.signature.seq_len) == (20190, 9)
    assert task.coverage(100_000) == 0
    train, test = (task.examples(task.indices(0)[part], "cpu") for part in ("train", "test"))
    x, y = (
        [add_constant(batch.inputs.sum(2).numpy(), has_constant="add") for batch in (train, test)],
        [batch.targets.numpy() for batch in (train, test)],
    )
    answers = OLS(y[0], x[0]).fit().predict(x[1])
    found = judged(task, answers.astype(np.float32)[:, None])
    naive = task.constants()["naive"]
    assert found["r2"] == pytest.approx(1 - np.mean((answers - y[1]) ** 2) / np.mean(y[1] ** 2), abs=1e-3)
    assert 0.03 < found["r2"] < 0.2
    assert found["error"] == pytest.approx(naive["error"] * (1 - found["r2"]) ** 0.5, rel=1e-5)
    # The mean of what is not for test is the naive answer.
    numbers = np.genfromtxt(folder / "randhie.csv", delimiter=",", names=True)["mdvis"]
    rows = task.indices(0)["test"]
    rest = np.delete(numbers, rows)
    assert naive["error"] == pytest.approx(np.sqrt(np.mean((numbers[rows] - rest.mean()) ** 2)), rel=1e-5)
    assert judged(task, np.zeros((len(rows), 1), np.float32)) == pytest.approx(naive, abs=1e-6)


def test_a_column_has_features_of_its_own(tmp_path):
    rows = [(n or "", "" if n == 1 else "abc"[n % 3], 7, n % 2) for n in range(90)]
    task = table(tmp_path, "size,make,zip,new", rows, target="new", categorical=["zip"])
    assert (task.signature.seq_len, task.signature.num_features, task.signature.num_outputs) == (3, 6, 2)
    features = task.examples(np.arange(90), "cpu").inputs.numpy()
    rest = np.setdiff1d(np.arange(1, 90), task.indices(0)["test"])
    expected = (np.arange(90) - rest.mean()) / rest.std()
    assert np.allclose(features[1:, 0, 1], expected[1:], atol=1e-6)
    assert (features[1:, 0, 0] == 1).all()
    assert (features[1:, 0, 2:] == 0).all()
    assert (features[0, 0] == 0).all()
    assert (features[1, 1] == 0).all()
    assert (features[2:, 1, 2:5].sum(1) == 1).all()
    assert len(np.unique(features[2:, 1], axis=0)) == 3
    assert (features[:, 2] == [0, 0, 0, 0, 0, 1]).all()


@pytest.mark.parametrize(
    ("values", "settings", "outputs"),
    [
        (range(90), {}, 1),
        ([n % 20 for n in range(90)], {}, 20),
        ([n % 20 for n in range(90)], {"predict": "number"}, 1),
        (range(90), {"predict": "label"}, 90),
        ([f"no {n % 4}" for n in range(90)], {}, 4),
    ],
)
def test_a_target_is_a_number_or_a_label(values, settings, outputs, tmp_path):
    rows = [(n, value) for n, value in enumerate(values)]
    assert table(tmp_path, "n,y", rows, target="y", **settings).signature.num_outputs == outputs


def test_labels_are_judged_as_scikit_learn_does_and_guessing_is_the_most_frequent_one(tmp_path):
    draw = np.random.default_rng(0)
    labels = draw.choice(["a", "b", "c"], p=[0.6, 0.3, 0.1], size=500)
    task = reviews(tmp_path, [(label, f"text {n}") for n, label in enumerate(labels)])
    test = task.split(0, "test", "cpu").targets.numpy()
    logits = draw.normal(size=(len(test), 3)).astype(np.float32)
    found = judged(task, logits)
    assert found["macro_f1"] == pytest.approx(f1_score(test, logits.argmax(1), average="macro"))
    assert found["accuracy"] == pytest.approx((test == logits.argmax(1)).mean())
    guess = judged(task, np.eye(3, dtype=np.float32)[[0] * len(test)])
    majority = task.constants()["majority"]
    assert {name: guess[name] for name in ("accuracy", "macro_f1")} == pytest.approx(
        {name: majority[name] for name in ("accuracy", "macro_f1")}
    )
    counts = np.bincount(np.delete(task.rows.targets, task.indices(0)["test"])) + 1
    assert majority["loss"] == pytest.approx(-np.log(counts / counts.sum())[test].mean())
    assert 0.5 < majority["accuracy"] < 0.7


def test_texts_are_read_as_far_as_asked_and_rare_words_are_one(tmp_path):
    rows = [(n % 2, f"film {n} was good and more" if n else "short") for n in range(200)]
    task = reviews(tmp_path, rows, max_len=4, vocab_size=3)
    assert task.signature.padded
    tokens = task.examples(np.arange(200), "cpu").inputs
    assert tokens.shape == (200, 4)
    assert tokens[0].tolist() == [UNKNOWN, PADDING, PADDING, PADDING]
    assert (tokens[1:, 1] == UNKNOWN).all()
    assert tokens[1:, [0, 2, 3]].unique().tolist() == [2, 3, 4]
    assert [*task.cautions()] == ["199 of 200 texts are cut off at max_len = 4"]
    assert task.coverage(10_000) > 0.9
    assert reviews(tmp_path, rows, unit="characters", max_len=99).signature.seq_len == len(rows[199][1])
    assert "vocabulary" in task.digests(0)
