"""What limits the verdicts of a study is known before it is trained, and said of the variants that it holds for."""

import pytest
from harness import prepare

from ablate.base.registry import register
from ablate.pipeline.evidence.limitations import advice, limitations
from ablate.tasks.recall import Recall

STUDY = """\
name: limits
task: {name: recall, vocab_size: 16, seq_len: 5, num_pairs: 2}
model: {d_model: 8, num_layers: 2, mixer: {name: attention, num_heads: 2}}
training: {steps: 100, batch_size: 64}
factors: {model.mixer: [lstm, conv]}
placebo: on
seeds: 3
"""
CONV = "model.mixer=conv: the output cannot see positions 0–1 of 5, beyond the reach of its 2 layers"
TASKS = "tasks: [{name: recall, vocab_size: 16, seq_len: 5, num_pairs: 2}, {name: known}]"


@pytest.fixture
def of(write):
    def of(text=STUDY, *sets):
        return limitations(prepare(write(text), sets), selects=False)

    return of


@pytest.fixture
def known():
    """A task whose examples are few, and part of which needs no look-up."""

    @register("task", "known")
    class Known(Recall):
        """Recall whose limits are declared."""

        def coverage(self, draws):
            return draws / 16_000

        def constants(self):
            best = {"without_matching_the_key": 0.5625, "without_the_order": 1 / 1000, "ngram": 0.9}
            return {name: {"accuracy": value} for name, value in best.items()}


def mentions(texts, *words):
    return [text for text in texts if all(word in text for word in words)]


@pytest.mark.slow
def test_a_variant_that_cannot_see_its_input_is_named(of):
    assert mentions(of(), "cannot see") == [CONV]
    blind = STUDY.replace("name: attention, num_heads: 2", "name: conv").replace("[lstm, conv]", "[lstm]")
    assert mentions(of(blind), "cannot see") == [CONV.replace("model.mixer=conv", "baseline")]


@pytest.mark.slow
def test_what_is_true_of_all_variants_names_none(known, of):
    texts = of(STUDY.replace("name: recall", "name: known"))
    assert "40 % of the test examples occur among the 6,400 that training draws" in texts
    assert mentions(texts, "without")[0].startswith(
        "without matching the key, the best accuracy is 0.5625; chance is 0.1"
    )
    assert not mentions(texts, "the order"), "which is no better than chance"
    few = of(STUDY.replace("name: recall", "name: known"), "training.steps=2")
    assert not mentions(few, "occur among"), "a share of one per cent"


@pytest.mark.slow
def test_of_several_tasks_each_is_named(known, of):
    texts = of(STUDY.replace(STUDY.splitlines()[1], TASKS))
    assert mentions(texts, "model.mixer=conv on recall: ")
    assert mentions(texts, "model.mixer=conv on known: ")
    assert mentions(texts, "on known, 40 %")
    assert not mentions(texts, "on recall, 40 %")


def test_a_workload_that_knows_nothing_says_nothing(toy_study):
    assert limitations(prepare(toy_study), selects=False) == []


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize(
    ("cell", "column", "given", "said"),
    [
        ("n/a", 1, "", ["price of prices.csv holds 199 numbers and 1 word, the first in line 17, 'n/a'"]),
        ("inf", 1, "", ["price of prices.csv holds 199 numbers and 1 word, the first in line 17, 'inf'"]),
        ("?", 0, "", ["area of prices.csv holds 199 numbers and 1 word, the first in line 17, '?'"]),
        ("nan", 0, "", []),  # A gap.
        ("n/a", 1, ", predict: label", []),
        ("?", 0, ", categorical: [area]", []),
    ],
)
def test_a_word_that_makes_names_of_numbers_is_named_with_its_line(cell, column, given, said, of, tmp_path):
    rows = [[f"{0.37 * row % 5:.2f}", f"{0.61 * row % 7:.3f}"] for row in range(200)]
    rows[15][column] = cell
    text = "area,price\n" + "\n".join(map(",".join, rows))
    (tmp_path / "prices.csv").write_text(text)
    found = of(
        f"name: limits\ntask: {{name: table, file: prices.csv, target: price{given}}}\n"
        "model: {d_model: 8, num_layers: 1}\nfactors: {model.d_model: [16]}\n"
    )
    assert [line.partition(";")[0] for line in found if "prices.csv holds" in line] == said


@pytest.mark.slow
def test_a_plan_names_tasks_with_fewer_steps_than_they_recommend(write):
    study = (
        "name: short\nvariants: {wide: {model.d_model: 128}}\ntask: {name: recall}\ntraining: {steps: %d}\n"
    )
    assert not advice(prepare(write(study % 600)))
    (warning,) = advice(prepare(write(study % 599)))
    assert "599" in warning
    assert "600" in warning
