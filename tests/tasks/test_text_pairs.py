"""Pairs of texts from a user's file, what is written for them, and BLEU."""

import itertools
import math
from pathlib import Path

import numpy as np
import pytest
import torch

from ablate.base.datafile import DataFile
from ablate.base.registry import CATALOGUE
from ablate.core.trial import Trial
from ablate.tasks.task import IGNORED
from ablate.tasks.text_pairs import TextPairs, bleu_counts, corpus_bleu
from ablate.tasks.transduction import END, FIRST_SYMBOL, PADDING, START
from ablate.training.trial import train_trial

CATALOGUE.load_builtin()
WORDS = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]


def spelled(n: int) -> str:
    return " ".join(WORDS[int(digit)] for digit in f"{n:03}")


NUMBERS = "\n".join(f"{n:03}\t{spelled(n)}" for n in range(400))


def built(folder: Path, content: str | bytes = NUMBERS, topology="encoder_decoder", **given) -> TextPairs:
    path = folder / "pairs.tsv"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    file = DataFile(str(path), "pairs.tsv")
    return TextPairs.Config(name="text_pairs", file=file, **given).build().for_topology(topology)


def text(task: TextPairs, codes: torch.Tensor) -> str:
    names = {PADDING: "", START: "⊢", END: "⊣", IGNORED: "", FIRST_SYMBOL: "�"}
    names |= {1 + FIRST_SYMBOL + code: symbol for code, symbol in enumerate(task.rows.vocabulary.symbols)}
    return (" " if task.config.unit == "words" else "").join(filter(None, map(names.get, codes.tolist())))


@pytest.mark.parametrize("unit", ["characters", "words"])
def test_every_pair_of_the_file_is_in_one_split_and_no_source_in_two(unit, tmp_path):
    repeated = f"{NUMBERS}\n\n001\tuno\r\n002\tdos\n"
    task = built(tmp_path, repeated, unit=unit)
    found = {}
    for name, rows in task.indices(3).items():
        batch = task.examples(rows, "cpu")
        found[name] = [
            (text(task, s), text(task, t)) for s, t in zip(batch.source, batch.targets, strict=True)
        ]
        unknown = any("�" in target for _, target in found[name])
        assert unknown <= (name == "test")
    pairs = [*itertools.chain(*found.values())]
    expected = {tuple(line.split("\t")) for line in repeated.replace("\r", "").splitlines() if line}
    end = " ⊣" if unit == "words" else "⊣"
    assert {(s, t.removesuffix(end)) for s, t in pairs if "�" not in s + t} <= expected
    assert len(pairs) == 402
    sources = [{source for source, _ in part} for part in found.values()]
    if unit == "characters":
        assert sum(map(len, sources)) == len(set().union(*sources)) == 400
    assert task.digests(3).keys() == {"train", "validation", "test", "vocabulary"}


def test_what_is_left_out_is_said(tmp_path):
    task = built(tmp_path, max_len=6, vocab_size=8)
    (said,) = task.cautions()
    assert "0 sources and 400 targets of 400" in said
    assert "max_len = 6" in said
    assert (task.signature.seq_len, task.signature.source.seq_len) == (7, 3)
    assert task.signature.vocab_size == FIRST_SYMBOL + 1 + 8
    assert text(task, task.examples(np.arange(1), "cpu").targets[0]).endswith("⊣")
    assert built(tmp_path).cautions() == []


def test_guessing_is_the_commonest_of_training(tmp_path):
    """Always one target; one token at each place; the frequencies of tokens."""
    content = "\n".join(f"{n}\t{'yes' if n % 3 else f'no {n % 5}'}" for n in range(600))
    task = built(tmp_path, content)
    test = [text(task, target) for target in task.split(0, "test", "cpu").targets]
    known = np.sort(np.concatenate([task.indices(0)[part] for part in ("train", "validation")]))
    train = [text(task, target) for target in task.examples(known, "cpu").targets]
    share = test.count("yes⊣") / len(test)
    assert task.metrics["accuracy"].floor == pytest.approx(share)
    hits = [np.mean([a == b for a, b in zip(t, "yes⊣⊣", strict=False)]) for t in test]
    assert task.metrics["token_accuracy"].floor == pytest.approx(np.mean(hits), abs=1e-6)
    counts = {c: "".join(train).count(c) + 1 for c in {*"".join(train)}}
    total = sum(counts.values()) + task.signature.vocab_size - len(counts)
    loss = np.mean([np.mean([-math.log(counts[c] / total) for c in t]) for t in test])
    assert task.chance_loss == pytest.approx(loss)
    assert task.constants() == {"commonest": {name: of.floor for name, of in task.metrics.items()}}


class Writer:
    """A model that writes what it is told, whatever it reads."""

    source_embedding = None

    def __init__(self, tokens: torch.Tensor, size: int) -> None:
        self.logits = torch.nn.functional.one_hot(tokens, size).float()

    def step(self, token, place, state, memory):
        return self.logits[:, place], None


@pytest.mark.parametrize("topology", ["encoder_decoder", "decoder"])
@pytest.mark.parametrize("unit", ["characters", "words"])
def test_bleu_and_greedy_accuracy_of_what_is_written(topology, unit, tmp_path):
    content = "\n".join(f"{n:03}\t{spelled(n)} {spelled(999 - n)}" for n in range(400))
    task = built(tmp_path, content, topology, unit=unit)
    batch = task.split(0, "test", "cpu")
    size, asked = task.signature.vocab_size, batch.targets != IGNORED

    def found(written):
        with torch.inference_mode():
            decoded = task.decode(Writer(written, size), batch)
        return task.summarise({name: values.float().numpy() for name, values in decoded.items()})

    right = batch.targets.clamp(min=PADDING)
    # After the end, and before the start, anything may be written.
    noise = torch.where(asked, right, FIRST_SYMBOL + 2)
    assert found(noise) == {"greedy_token_accuracy": 1.0, "bleu": 1.0}
    early = right.clone()
    last = asked.long().argmax(1) + asked.sum(1) // 2
    early[torch.arange(len(early)), last] = END
    half = found(early)
    assert 0.4 < half["greedy_token_accuracy"] < 0.6
    words = [text(task, row).replace("⊣", "").split() for row in batch.targets]
    cut = [text(task, row).split("⊣")[0].split() for row in early]
    expected = corpus_bleu(np.array([bleu_counts(*pair) for pair in zip(cut, words, strict=True)]))
    assert half["bleu"] == pytest.approx(expected)


def test_what_is_unknown_is_never_right(tmp_path):
    task = built(tmp_path, unit="words", vocab_size=2)
    batch = task.split(0, "test", "cpu")
    with torch.inference_mode():
        decoded = task.decode(Writer(batch.targets.clamp(min=PADDING), task.signature.vocab_size), batch)
    unknown = (batch.targets == FIRST_SYMBOL).sum(1)
    assert unknown.sum() > 0
    assert torch.equal(decoded["bleu_1"], decoded["bleu_wanted"] - unknown)


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        # 6 of 7 words, 5 of 6 pairs, 4 of 5 and 3 of 4: the product is 3/7.
        ([("the cat sat on the mat today", "the cat sat on the mat now")], (3 / 7) ** (1 / 4)),
        # All precisions are 1; the brevity penalty is exp(1 − 6/5).
        ([("the cat sat on the", "the cat sat on the mat")], math.exp(-1 / 5)),
        # Longer than the reference: 4/5, 3/4, 2/3, 1/2.
        ([("a b c d e", "a b c d")], (1 / 5) ** (1 / 4)),
        # Papineni's example: `the` counts twice, but no pair is right.
        ([("the the the the the the the", "the cat is on the mat")], 0.0),
        # Counts are added up first: 9/10, 7/8, 5/6, 3/4, and 10 words for 10.
        ([("a b c d e", "a b c d e"), ("f g h i j", "f g h i k")], (9 / 10 * 7 / 8 * 5 / 6 * 3 / 4) ** 0.25),
        ([("", "a b c d")], 0.0),
    ],
)
def test_bleu_by_hand(pairs, expected):
    counts = np.array([bleu_counts(*(words.split() for words in pair)) for pair in pairs])
    assert corpus_bleu(counts) == pytest.approx(expected)


def test_papineni_counts_a_word_as_often_as_the_reference_has_it():
    assert bleu_counts(["the"] * 7, ["the", "cat", "is", "on", "the", "mat"]) == [7, 6, 2, 0, 0, 0]


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize("topology", ["encoder_decoder", "decoder"])
def test_a_trial_tells_bleu_on_test_alone(topology, tmp_path):
    (tmp_path / "pairs.tsv").write_text(NUMBERS)
    task = {"name": "text_pairs", "file": str(tmp_path / "pairs.tsv"), "unit": "words"}
    model = {"topology": topology, "d_model": 16, "num_layers": 1}
    config = {"task": task, "model": model, "training": {"steps": 20}}
    first, second = (train_trial(Trial("", config, 0), lambda *_: False) for _ in range(2))
    assert 0.0 <= first.metrics["bleu"] <= 1.0
    assert first.metrics["greedy_token_accuracy"] > 0
    assert not {"validation_bleu", "validation_greedy_token_accuracy"} & {
        name for name, value in first.metrics.items() if value is not None
    }
    assert "test/greedy_token_accuracy" in first.arrays
    assert {"test/bleu", "test/bleu_1"}.isdisjoint(first.arrays)
    same = [
        {name: value for name, value in record.metrics.items() if "seconds" not in name}
        for record in (first, second)
    ]
    assert same[0] == same[1]
    assert first.data.keys() == {"train", "validation", "test", "vocabulary"}
