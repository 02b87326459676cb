"""Suggestions for a name or a path that is not known: what a user may have meant.

Other words for names are kept here, and not beside the parts, whose sources are part of every trial's id.
"""

from collections.abc import Iterable, Sequence

from ablate.base.errors import nearest
from ablate.base.registry import CATALOGUE

# Name → other words for it, in lower case and without punctuation.
OTHER_WORDS = {
    # parts
    "attention": "mha mhsa multihead multiheadattention selfattention transformer",
    "linear_attention": "lineartransformer performer",
    "conv": "cnn convolution conv1d depthwise",
    "fourier": "fnet fft",
    "mlp": "ffn dense feedforward",
    "rope": "rotary rotaryembedding rotarypositions",
    "sincos": "sinusoidal sinusoid sin sine",
    "learned": "absolute trainable learnable",
    "relative": "t5 relativebias",
    "layer": "layernorm ln",
    "batch": "batchnorm bn",
    "rms": "rmsnorm",
    "adamw": "adam",
    "sgd": "momentum nesterov",
    "silu": "swish",
    "identity": "linear",
    "scaled_dot": "sdpa scaleddotproduct",
    "dot": "dotproduct luong",
    "additive": "bahdanau",
    "bilinear": "general multiplicative",
    "gaussian": "rbf",
    "cosine": "cosineannealing cosinesimilarity cos",
    "constant": "fixed",
    "shared_kv": "mqa",
    "low_rank": "lowrank lora",
    "hard": "hardmax argmax",
    "decoder": "gpt causal autoregressive decoderonly",
    "encoder": "bert bidirectional encoderonly",
    "encoder_decoder": "seq2seq",
    "tpe": "bayesian bayes",
    "CmaEsSampler": "cmaes cma",
    "GPSampler": "gp gaussianprocess",
    "nsga2": "nsga nsgaii",
    "QMCSampler": "qmc sobol halton",
    "PatientPruner": "patient patience",
    "PercentilePruner": "percentile",
    "ThresholdPruner": "threshold",
    "WilcoxonPruner": "wilcoxon",
    "recall": "mqar associativerecall",
    "digits": "mnist",
    # keys of a study
    "lr": "learningrate rate",
    "batch_size": "bs minibatch",
    "steps": "iterations iters maxsteps numsteps epochs",
    "d_model": "dim width hidden hiddensize hiddendim embeddim modeldim",
    "num_layers": "layers nlayers depth",
    "num_heads": "heads nheads nhead",
    "weight_decay": "wd l2",
    "clip_norm": "clip gradclip gradnorm maxgradnorm gradientclipping",
    "warmup_steps": "warmup",
    "feedforward": "ffn mlp",
    "vocab_size": "vocab vocabulary",
    "seq_len": "length sequencelength maxlen",
}


def did_you_mean(name: object, names: Iterable[str]) -> str:
    """Returns `Did you mean 'rope'?` for the one of `names` that is meant by `name`, or nothing."""
    names = list(names)
    meant = meanings(name, names)
    return f"Did you mean {meant[0]!r}?" if meant else nearest(name, names)


def key_meant(name: object, names: Iterable[str]) -> str | None:
    """Returns the one of `names` that `did_you_mean` suggests for `name`; None for none."""
    names = list(names)
    # By its answer: `nearest` is part of every trial's id, and stays as it is.
    return next((valid for valid in names if did_you_mean(name, names) == f"Did you mean {valid!r}?"), None)


def meanings(name: object, names: Iterable[str]) -> list[str]:
    """Returns those of `names` that `name` is another word, another spelling or another number for."""
    word = _letters(name)
    return [valid for valid in names if _is_spelling(word, valid) or word in _other_words(valid)]


def _is_spelling(word: str, name: str) -> bool:
    """Returns whether a word is a name but for case, punctuation and a plural `s`."""
    letters = _letters(name)
    return word == letters or (len(word) > 2 and word.removesuffix("s") == letters.removesuffix("s"))


def _letters(name: object) -> str:
    """Returns the letters and digits of a name, in lower case."""
    return "".join(character for character in str(name).lower() if character.isalnum())


def _other_words(name: str) -> list[str]:
    return OTHER_WORDS.get(name, "").split()


def part_hint(slot: str, name: object, names: Sequence[str], command: str = "") -> str:
    """Returns what may be meant by a `name` that is none of the `names` of `slot`.

    It is a part of this slot, or else of another. `command`: of which slot and name are the arguments; without it they
    are a key and a value of a study.
    """
    # Of several slots that have the part, that with most parts comes first.
    slots = sorted(CATALOGUE.slots(), key=lambda other: -len(CATALOGUE.names(other)))
    in_slot = meanings(name, names)
    if in_slot and not command:
        return did_you_mean(name, names)
    parts = [(slot, part) for part in in_slot]
    if not parts:
        for other in slots:
            parts += [(other, part) for part in meanings(name, CATALOGUE.names(other))]
    if not parts:
        return did_you_mean(name, names or slots)
    separator = " " if command else ": "
    written = [f"`{command}{separator.join(part)}`" for part in parts]
    return f"Did you mean {' or '.join(written)}?"


def elsewhere(path: str, paths: Iterable[str]) -> str:
    """Returns `Did you mean 'training.lr'?` for a path of `paths` whose last key is that of `path` or another word
    for it; empty if there is none. Of several, the one that shares most outer keys is named.
    """
    *outer, last = path.split(".")
    ends = {other: other.rpartition(".")[2] for other in paths if other != path}
    alike = [last] if last in ends.values() else meanings(last, ends.values())
    candidates = [other for other, end in ends.items() if end in alike]
    if not candidates:
        return ""
    # Of several, the outermost of those that share most keys further up.
    nearest_path = min(
        candidates, key=lambda other: (-len(set(outer) & set(other.split("."))), other.count("."))
    )
    return f"Did you mean {nearest_path!r}?"
