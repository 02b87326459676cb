"""What a user meant by a name that is not known: other words of the field, another slot, another place in a study.

Words are kept here, and not beside the parts, whose sources are part of every trial's id.
"""

from __future__ import annotations

import difflib
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
MAX_DEPTH = 8


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
    slots = sorted(CATALOGUE.slots(), key=lambda known: -len(CATALOGUE.names(known)))
    found = [(other, part) for other in slots for part in meanings(name, CATALOGUE.names(other))]
    found = [(slot, part) for part in own] or found
    if not found and slot not in slots and isinstance(name, str):
        everything = {known: (known, "") for known in slots}
        everything |= {part: (known, part) for known in slots for part in CATALOGUE.names(known)}
        found = [everything[close] for close in difflib.get_close_matches(name, everything, n=1, cutoff=0.5)]
    if not found or (own and not command):
        return did_you_mean(name, CATALOGUE.names(slot))
    separator = " " if command else ": "
    words = [f"`{command}{separator.join(filter(None, pair))}`" for pair in found]
    return f"Did you mean {' or '.join(words)}?"


def elsewhere(path: str, config: Mapping[str, Any]) -> str:
    """`Did you mean 'training.lr'?` for the path of `config` that ends as the dotted `path` does, or nothing."""
    *outer, last = path.split(".")
    known = sorted(paths_of(config), key=lambda found: found.count("."))
    ends = {found: found.rpartition(".")[2] for found in known}
    for alike in ([last], meanings(last, ends.values())):
        same = [found for found in known if ends[found] in alike and found != path]
        # Of several, the one that shares most keys further up.
        same.sort(key=lambda found: -len(set(outer) & set(found.split("."))))
        if same:
            return f"Did you mean {same[0]!r}?"
    return ""


def paths_of(config: Any, prefix: str = "", depth: int = 0) -> Iterator[str]:
    """Every dotted path of a config except the names of parts, outer ones first."""
    for key, value in config.items() if isinstance(config, Mapping) and depth < MAX_DEPTH else ():
        if key != "name":
            path = f"{prefix}.{key}" if prefix else str(key)
            yield path
            yield from paths_of(value, path, depth + 1)


def _plain(name: object) -> str:
    return "".join(c for c in str(name).lower() if c.isalnum())
