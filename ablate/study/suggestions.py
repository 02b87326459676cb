"""What a user meant by a name that is not known: other words of the field, another slot, another place in a study.

Words are kept here, and not beside the parts, whose sources are part of every trial's id.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ablate.base.errors import nearest
from ablate.base.registry import CATALOGUE

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
    "cmaes": "cma",
    "gp": "gaussianprocess",
    "nsga2": "nsga nsgaii",
    "qmc": "sobol halton",
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
"""Name → other words for it, in lower case and without punctuation."""


def did_you_mean(name: object, names: Iterable[str]) -> str:
    """`Did you mean 'rope'?` for the one of `names` that is meant by `name`, or nothing."""
    names = list(names)
    meant = meanings(name, names)
    return f"Did you mean {meant[0]!r}?" if meant else nearest(name, names)


def meanings(name: object, names: Iterable[str]) -> list[str]:
    """Those of `names` that `name` is another word or another spelling for."""
    word = _plain(name)
    return [known for known in names if word == _plain(known) or word in OTHER_WORDS.get(known, "").split()]


def part_hint(slot: str, name: object, command: str = "") -> str:
    """What may be meant by a `name` that no part of `slot` has: one of its own parts, or one of another slot.

    `command`: of which slot and name are the arguments; without it they are a key and a value of a study.
    """
    own = meanings(name, CATALOGUE.names(slot))
    slots = [slot] if own else sorted(CATALOGUE.slots(), key=lambda known: -len(CATALOGUE.names(known)))
    found = [(other, part) for other in slots for part in meanings(name, CATALOGUE.names(other))]
    if not found or (own and not command):
        return did_you_mean(name, CATALOGUE.names(slot) or slots)
    separator = " " if command else ": "
    return f"Did you mean {' or '.join(f'`{command}{separator.join(pair)}`' for pair in found)}?"


def elsewhere(path: str, paths: Iterable[str]) -> str:
    """`Did you mean 'training.lr'?` for the one of the dotted `paths` that ends as `path` does, or nothing."""
    *outer, last = path.split(".")
    ends = {known: known.rpartition(".")[2] for known in paths if known != path}
    alike = [last] if last in ends.values() else meanings(last, ends.values())
    found = [known for known, end in ends.items() if end in alike]
    # Of several, the outermost of those that share most keys further up.
    found.sort(key=lambda known: (-len(set(outer) & set(known.split("."))), known.count(".")))
    return f"Did you mean {found[0]!r}?" if found else ""


def paths_of(config: Any, prefix: str = "") -> Iterator[str]:
    """Every dotted path of a config except the names of parts."""
    for key, value in config.items() if isinstance(config, Mapping) else ():
        if key != "name":
            yield f"{prefix}{key}"
            yield from paths_of(value, f"{prefix}{key}.")


def _plain(name: object) -> str:
    return "".join(c for c in str(name).lower() if c.isalnum())
