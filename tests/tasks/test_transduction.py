"""Tasks that are answered by a sequence: layouts, distributions, chance, and what a solver by hand reaches."""

import contextlib
import datetime
import itertools
import re

import numpy as np
import pytest
import torch
from scipy import stats
from torch.nn import functional

from ablate.base.registry import CATALOGUE
from ablate.components.masks import real_positions
from ablate.core.trial import Trial
from ablate.models.build import build_model
from ablate.models.section import ModelSection
from ablate.tasks.dates import CHARACTERS
from ablate.tasks.task import IGNORED, Batch, digest
from ablate.tasks.transduction import END, FIRST_SYMBOL, PADDING, START, Transduction, greedy
from ablate.training.loop import train
from ablate.training.section import TrainingSection

CATALOGUE.load_builtin()


def made(name: str, topology="encoder_decoder", **given) -> Transduction:
    config = CATALOGUE.get("task", name).Config(name=name, **{"test_size": 256} | given)
    return config.build().for_topology(topology)


def text(codes: list[int]) -> str:
    return "".join(CHARACTERS[code - FIRST_SYMBOL] for code in codes)


READABLE = [
    *(
        "%d %B %Y",
        "%d %b %Y",
        "%d-%b-%Y",
        "%B %d, %Y",
        "%b %d, %Y",
        "%Y %B %d",
        "%Y/%m/%d",
        "%Y.%m.%d",
        "%Y%m%d",
    ),
    *("%A, %d %B %Y", "%A, %B %d, %Y", "%a %d %b %Y", "%a, %b %d, %Y"),
]


def iso(written: str) -> str:
    """Returns a date in ISO 8601 by Python's own reader, its weekday checked."""
    plain = re.sub(r"(?<=\d)(st|nd|rd|th)( of)?", "", written)
    for form in READABLE:
        with contextlib.suppress(ValueError):
            found = datetime.datetime.strptime(plain, form)
            assert all(found.strftime(code) in plain for code in ("%A", "%a") if code in form)
            return found.date().isoformat()
    raise AssertionError(written)


def summed(source: list[int], step: int) -> list[int]:
    first, second = "".join("0123456789+"[code - FIRST_SYMBOL] for code in source).split("+")
    assert len(first) == len(second)
    return [FIRST_SYMBOL + int(digit) for digit in f"{int(first) + int(second):0{len(first) + 1}}"[::step]]


SOLVERS = {
    "copy": lambda source: source,
    "reverse": lambda source: source[::-1],
    "sort": sorted,
    "dates": lambda source: [FIRST_SYMBOL + CHARACTERS.index(c) for c in iso(text(source))],
    "addition": lambda source: summed(source, -1),
    "plain": lambda source: summed(source, 1),
}
SIZES = {"vocab_size": 8, "min_len": 1, "max_len": 4}
CASES = [
    *((name, name, SIZES) for name in ("copy", "reverse", "sort")),
    ("reverse", "reverse", {"vocab_size": 8, "min_len": 4, "max_len": 4}),
    ("addition", "addition", {"digits": 2}),
    ("addition", "addition", {"digits": 3, "min_digits": 1}),
    ("plain", "addition", {"digits": 3, "min_digits": 2, "order": "plain"}),
    ("dates", "dates", {}),
    ("dates", "dates", {"forms": "numeric"}),
]
TOPOLOGIES = ("encoder_decoder", "decoder")
of_each = pytest.mark.parametrize(("solver", "name", "given"), CASES)


def read(batch):
    """Yields the source and the target of each example, from either layout."""
    sources = [[]] * len(batch) if batch.source is None else batch.source.tolist()
    for source, inputs, targets in zip(sources, batch.inputs.tolist(), batch.targets.tolist(), strict=True):
        start = inputs.index(START)
        count = sum(target != IGNORED for target in targets)
        asked, end = targets[start : start + count], start + count
        assert inputs[start + 1 : end] == asked[:-1]
        assert asked.index(END) == count - 1
        assert [*inputs[end:], *targets[:start], *targets[end:]] == (
            [PADDING] * (len(inputs) - end) + [IGNORED] * (len(targets) - count)
        )
        real = [code for code in source if code != PADDING]
        assert source == real + [PADDING] * (len(source) - len(real))
        yield real + inputs[:start], asked[:-1]


@of_each
@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_every_target_is_the_answer_to_its_source(solver, name, given, topology):
    task = made(name, topology, **given)
    for batch in (task.split(3, "test", "cpu"), next(task.train_batches(3, 200, "cpu"))):
        for source, target in read(batch):
            assert target == SOLVERS[solver](source)
        for tokens, mask in ((batch.inputs, batch.mask), (batch.source, batch.source_mask)):
            if mask is not None:
                assert torch.equal(real_positions(mask, tokens.shape[1]), tokens != PADDING)


@of_each
def test_a_decoder_gets_the_same_examples(solver, name, given):
    two, one = (made(name, topology, **given) for topology in TOPOLOGIES)
    for draw in (
        lambda task: task.split(1, "test", "cpu"),
        lambda task: next(task.train_batches(1, 50, "cpu")),
    ):
        assert [*read(draw(two))] == [*read(draw(one))]
    assert one.signature.seq_len == two.signature.seq_len + two.signature.source.seq_len
    assert one.for_topology("decoder") is one


def test_reverse_draws_what_it_has_always_drawn():
    task = made("reverse", test_size=64)
    drawn = task.split(0, "test", "cpu"), next(task.train_batches(0, 64, "cpu"))
    assert [digest(Batch(batch.inputs, batch.source)) for batch in drawn] == [
        "934b499515694d0c",
        "45ce5962e70ac9f0",
    ]


@pytest.mark.parametrize("name", ["copy", "reverse", "sort"])
def test_lengths_and_symbols_are_uniform(name):
    """χ² at a fixed seed, each at the level 1e-4."""
    source = made(name, **SIZES).examples(np.random.default_rng(0), 4000).source
    lengths = (source != PADDING).sum(1)
    assert stats.chisquare(lengths.bincount()[1:]).pvalue > 1e-4
    source = source[lengths > 1]
    pairs = source[:, 0] * 8 + source[:, 1]
    expected = [8 * a + b for a, b in itertools.product(range(FIRST_SYMBOL, 8), repeat=2)]
    assert stats.chisquare(pairs.bincount(minlength=64)[expected]).pvalue > 1e-4


def test_digits_and_their_number_are_uniform():
    source = made("addition", digits=2, min_digits=1).examples(np.random.default_rng(0), 8000).source
    long = source[:, 4] != PADDING
    assert stats.chisquare(long.long().bincount()).pvalue > 1e-4
    for tokens, places in ((source[long], (0, 1, 3, 4)), (source[~long], (0, 2))):
        for one, other in itertools.combinations(places, 2):
            pairs = 10 * (tokens[:, one] - FIRST_SYMBOL) + tokens[:, other] - FIRST_SYMBOL
            assert stats.chisquare(pairs.bincount(minlength=100)).pvalue > 1e-4


@pytest.mark.slow
def test_days_and_forms_are_uniform_and_no_day_is_in_two_parts():
    task = made("dates")
    batch = task.examples(np.random.default_rng(0), 6000)
    names = [re.sub(r"\d+", "", text(source)) for source, _ in read(batch)]
    assert stats.binomtest(sum(" of " in name for name in names), 6000, 1 / 17).pvalue > 1e-4
    assert stats.binomtest(sum(not re.search("[a-z]", name) for name in names), 6000, 4 / 17).pvalue > 1e-4
    ordinals = [datetime.date.fromisoformat(text(target)).toordinal() for _, target in read(batch)]
    first = datetime.date(1900, 1, 1).toordinal()
    assert stats.kstest((np.array(ordinals) - first) / 73049, "uniform").pvalue > 1e-4
    batches = [task.split(2, name, "cpu") for name in ("validation", "test")]
    batches.append(next(task.train_batches(2, 20_000, "cpu")))
    days = [{text(target) for _, target in read(batch)} for batch in batches]
    assert not any(one & other for one, other in itertools.combinations(days, 2))


def measured(task: Transduction, answers: torch.Tensor, batch: Batch) -> dict[str, float]:
    """Returns the metrics of one answer for each example, (B, T)."""
    logits = functional.one_hot(answers.clamp(min=0), task.signature.num_outputs).float()
    return task.summarise({name: values.numpy() for name, values in task.measure(logits, batch).items()})


@pytest.mark.fast_cases(2)
@of_each
def test_chance_by_counting(solver, name, given):
    """Counted for one token at each place, one sequence, the targets' distribution, and a shuffled answer."""
    task = made(name, **given)
    batch = task.examples(np.random.default_rng(0), 20_000)
    floors = {name: metric.floor for name, metric in task.metrics.items()}
    lengths = (batch.targets != IGNORED).sum(1)
    best = [
        int(column[column != IGNORED].bincount((1 / lengths)[column != IGNORED]).argmax())
        for column in batch.targets.T
    ]
    constant = measured(task, torch.tensor(best).expand_as(batch.targets), batch)
    assert constant["token_accuracy"] == pytest.approx(floors["token_accuracy"], abs=0.01)
    _, which, counts = batch.targets.unique(dim=0, return_inverse=True, return_counts=True)
    shares = counts / len(batch)
    if len(counts) < 1000:
        assert shares.max() == pytest.approx(floors["accuracy"], rel=0.1, abs=0.002)
        assert (-shares[which].log() / lengths).mean() == pytest.approx(floors["loss"], rel=0.02)
    shuffled = measured(task, batch.targets.roll(1, 0), batch)
    assert shuffled["accuracy"] <= max(1.2 * floors["accuracy"], 0.01)
    assert measured(task, batch.targets, batch)["accuracy"] == task.metrics["accuracy"].ceiling
    assert task.chance_loss == floors["loss"]


def test_the_chance_of_dates_is_that_of_all_days():
    floors = [metric.floor for metric in made("dates").metrics.values()]
    assert (floors[0], floors[2]) == (pytest.approx(1 / 73_049), pytest.approx(np.log(73_049) / 11))


@pytest.mark.parametrize("digits", [2, 3])
def test_adding_each_place_by_itself_reaches_what_is_stated(digits):
    task = made("addition", digits=digits)
    batch = task.examples(np.random.default_rng(0), 10_000)
    first, second = (batch.source[:, i : i + digits].flip(1) - FIRST_SYMBOL for i in (0, digits + 1))
    sums = first + second
    answers = torch.cat([sums % 10, sums[:, -1:] // 10], 1) + FIRST_SYMBOL
    answers = torch.cat([answers, torch.full((len(answers), 1), END)], 1)
    expected = task.constants()["without_carrying"]["accuracy"]
    assert measured(task, answers, batch)["accuracy"] == pytest.approx(expected, abs=0.02)


def test_losses_and_metrics_against_a_reading_token_by_token():
    task = made("reverse", **SIZES)
    batch = task.split(0, "test", "cpu")
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(*batch.targets.shape, 8, generator=generator, dtype=torch.float64)
    # Some sequences are right, some but for one token.
    logits[:40].scatter_(2, batch.targets[:40, :, None].clamp(min=0), 9.0)
    logits[10:20, 1, 0] = 10.0
    expected = {"accuracy": [], "token_accuracy": [], "loss": []}
    for rows, targets in zip(logits, batch.targets, strict=True):
        real = targets != IGNORED
        right = (rows.argmax(1) == targets)[real].double()
        expected["accuracy"].append(right.min())
        expected["token_accuracy"].append(right.mean())
        expected["loss"].append(functional.cross_entropy(rows[real], targets[real]))
    found = task.measure(logits, batch)
    for name, values in expected.items():
        np.testing.assert_allclose(found[name].numpy(), values, rtol=1e-5)
    assert found["accuracy"][:40].mean() == 0.75
    assert task.loss(logits, batch).item() == pytest.approx(np.mean(expected["loss"]), rel=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_teacher_forced_exactness_is_that_of_greedy_decoding(topology):
    task = made("reverse", topology, vocab_size=7, min_len=1, max_len=5, test_size=200)
    section = {"topology": topology, "d_model": 16, "num_layers": 1 + (topology == "decoder")}
    model = build_model(ModelSection.model_validate(section), task.signature)
    training = TrainingSection(steps=40, lr=1e-2, batch_size=32)
    train(model, task, training, Trial("", {}, 0), lambda step, metrics: False)
    batch = task.split(0, "test", "cpu")
    model.eval()
    with torch.inference_mode():
        forced = task.measure(model(**batch.model_inputs()), batch)["accuracy"]
        written = greedy(model, batch)
    right = (written == batch.targets.clamp(min=PADDING)).all(1)
    assert 0.1 < forced.mean() < 0.98
    assert forced.tolist() == right.tolist()


@pytest.mark.parametrize("topology", TOPOLOGIES)
@pytest.mark.parametrize(
    ("name", "given", "found"),
    [
        ("copy", {"max_len": 3, "vocab_size": 20}, {"longer": range(4, 7)}),
        ("sort", {"max_len": 3, "vocab_size": 20}, {"longer": range(4, 7)}),
        ("addition", {"digits": 3, "min_digits": 2}, {"longer": range(9, 14, 2)}),
        ("copy", {"min_len": 6}, {}),
        ("addition", {}, {}),
        ("dates", {}, {"named": range(10, 31), "numeric": range(8, 11)}),
        ("reverse", {}, {}),
    ],
)
def test_slices_have_the_lengths_that_they_are_named_for(name, given, found, topology):
    task = made(name, topology, **given)
    assert task.slices().keys() == found.keys()
    for slice_name, lengths in found.items():
        sliced = task.sliced(slice_name)
        assert (sliced.signature.source is None) == (topology == "decoder")
        batch = sliced.split(0, "test", "cpu")
        assert len(batch) == 512
        assert {len(source) for source, _ in read(batch)} <= {*lengths}


@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_noise_is_in_the_labels_that_are_asked_for(topology):
    clean, noisy = (
        next(made("copy", topology, label_noise=noise).train_batches(0, 500, "cpu")) for noise in (0.0, 0.5)
    )
    asked = clean.targets != IGNORED
    assert torch.equal(asked, noisy.targets != IGNORED)
    assert torch.equal(clean.inputs, noisy.inputs)
    wrong = (clean.targets != noisy.targets)[asked].float().mean()
    assert wrong == pytest.approx(0.43, abs=0.04)
