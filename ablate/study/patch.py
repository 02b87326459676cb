"""Paths of a config: changes by path, labels of the values there, and what a user meant by one that is not known.

A patch states only what differs. On a part (a mapping with a `name`) it replaces the whole part when the name
changes, and merges parameters when it does not. Other words for names are kept here, and not beside the parts, whose
sources are part of every trial's id.
"""

import copy
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ablate.base.datafile import DataFile
from ablate.base.errors import Gather, Invalid, listed, nearest
from ablate.base.registry import CATALOGUE
from ablate.base.text import printable
from ablate.core.trial import merged


def key_of(value: Any) -> str:
    """The JSON of a config, or of a value in one: equal for equal ones."""
    return json.dumps(value, sort_keys=True)


def is_empty(value: Any) -> bool:
    """Whether a value, laid over another as a patch, changes nothing: a mapping without a value in it."""
    return isinstance(value, Mapping) and all(map(is_empty, value.values()))


def apply_patches(
    config: Mapping[str, Any], patches: Mapping[str, Any], *, skip_removed: bool = False
) -> dict[str, Any]:
    """A copy of `config`, resolved or not, with the value at each dotted path changed.

    Outer paths come first. With `skip_removed`, a path that an outer patch removed is left out (a factorial
    collapses there). Raises `Invalid`, with all paths that do not exist.
    """
    result: dict[str, Any] = copy.deepcopy(dict(config))
    with Gather() as at:
        for path in sorted(patches, key=lambda path: path.count(".")):
            if skip_removed and has_path(config, path) and not has_path(result, path):
                continue
            with at():
                if is_empty(patches[path]):
                    raise Invalid(path, "changes nothing: it is empty", patches[path])
                old = value_at(result, path)
                outer, _, last = path.rpartition(".")
                node = value_at(result, outer) if outer else result
                node[last] = merged(old, patches[path])
    return result


def has_path(config: Mapping[str, Any], path: str) -> bool:
    """Whether the dotted path leads to a value."""
    node: Any = config
    for key in path.split("."):
        if not isinstance(node, Mapping) or key not in node:
            return False
        node = node[key]
    return True


def overlap(path: str, other: str) -> bool:
    """Returns whether two dotted paths are one, or one of them lies inside the other."""
    return f"{path}.".startswith(f"{other}.") or f"{other}.".startswith(f"{path}.")


def value_at(config: Mapping[str, Any], path: str) -> Any:
    """The value at a dotted path; raises `Invalid` with the nearest name where it ends."""
    node: Any = config
    keys = path.split(".")
    for depth, key in enumerate(keys):
        known = node if isinstance(node, Mapping) else {}
        if key not in known:
            where = ".".join(keys[:depth]) or "a study's config"
            hint = elsewhere(path, paths_of(config)) or nearest(key, known)
            raise Invalid("", f"the path does not exist: {where} has no {key!r}", path, listed(known), hint)
        node = known[key]
    return node


def document_keys(path: str, keyed_by_path: Iterable[str] = ()) -> tuple[str, ...]:
    """Returns the keys that a dotted path means in a study file, where a path of a factor or variant is one key.

    keyed_by_path: further places whose entries are paths, each of which is one key.
    """
    places = {place: place.count(".") + 1 for place in keyed_by_path}
    for place, steps in {**places, "factors": 1, "variants": 2}.items():  # variants.VARIANT.PATH
        if path.startswith(f"{place}."):
            return tuple(path.split(".", steps))
    return tuple(path.split("."))


def set_in_document(data: dict[str, Any], keys: Sequence[str], value: Any) -> None:
    """Changes a study as it was written, where much may be left out or be in its short form: `--set`."""
    *outer, last = keys
    node: Any = data
    for key in outer:
        below = node.get(key)
        short: dict[str, Any] = {"name": below} if _is_name(below) else {}
        if key == "seeds" and isinstance(below, int):
            short = {"count": below}
        node[key] = node = below if isinstance(below, dict) else short
    old = node.get(last)
    node[last] = merged({"name": old} if _is_name(old) and isinstance(value, Mapping) else old, value)


def _is_name(value: Any) -> bool:
    """Whether a value is short for a part; `on` and `off` are switches, of a section with its defaults."""
    return isinstance(value, str) and value not in ("on", "off")


def level_labels(values: Iterable[Any]) -> dict[str, str]:
    """Labels for the values at one path, by their JSON: the name, with the parameters that tell apart
    values of one name (`low_rank(rank=8)`).
    """
    distinct = {key_of(value): value for value in values}
    return {
        key: printable(short_label(value) + _telling(value, distinct.values()))
        for key, value in distinct.items()
    }


def short_label(value: Any) -> str:
    """A value as a word: of a part its name; on, off and null as a study file writes them."""
    if isinstance(value, DataFile):
        return value.written
    if isinstance(value, Mapping):
        return str(value.get("name", ""))
    if isinstance(value, bool):
        return "on" if value else "off"
    if value is None:
        return "null"
    return str(value) if isinstance(value, (str, int, float)) else json.dumps(value, separators=(",", ":"))


def _telling(value: Any, values: Iterable[Any]) -> str:
    """The parameters of a part by which it differs from others of its name, in brackets; or nothing."""
    if not isinstance(value, Mapping):
        return ""
    flat = _flat(value)
    others = [_flat(o) for o in values if isinstance(o, Mapping) and short_label(o) == short_label(value)]
    differing = [key for key in flat if any(key not in other or other[key] != flat[key] for other in others)]
    return f"({','.join(f'{key}={short_label(flat[key])}' for key in differing)})" if differing else ""


def _flat(value: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters by dotted path; a nested part counts by its name and by its own parameters."""
    found = {path: value_at(value, path) for path in paths_of(value)}
    return {path: item.get("name") if isinstance(item, Mapping) else item for path, item in found.items()}


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
    """`Did you mean 'rope'?` for the one of `names` that is meant by `name`, or nothing."""
    names = list(names)
    meant = meanings(name, names)
    return f"Did you mean {meant[0]!r}?" if meant else nearest(name, names)


def meanings(name: object, names: Iterable[str]) -> list[str]:
    """Those of `names` that `name` is another word or another spelling for."""
    word = _plain(name)
    return [known for known in names if word == _plain(known) or word in OTHER_WORDS.get(known, "").split()]


def part_hint(slot: str, name: object, names: Sequence[str], command: str = "") -> str:
    """What may be meant by a `name` that is none of the `names` of `slot`: one of them, or a part of another slot.

    `command`: of which slot and name are the arguments; without it they are a key and a value of a study.
    """
    own = meanings(name, names)
    slots = sorted(CATALOGUE.slots(), key=lambda known: -len(CATALOGUE.names(known)))
    others = [(other, part) for other in slots for part in meanings(name, CATALOGUE.names(other))]
    found = [(slot, part) for part in own] or others
    if not found or (own and not command):
        return did_you_mean(name, names or slots)
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
