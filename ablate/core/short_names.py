"""Names of variants for readers: “additive scoring” for `model.mixer.score=additive`. CSV files keep the paths."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from ablate.core.facts import BASELINE, Facts, VariantFacts

# Ends of paths whose word, with its level before it, would not be read as it is meant.
_NOUNS = {
    "score": "scoring",
    "position": "positions",
    "value": "values",
    "cross": "cross connection",
    "norm_placement": "norm placement",
}
_LEFT_OUT = ("none", "off")


def short_names(facts: Facts) -> dict[str, str]:
    """Variant → its label in the study's `labels:`, or a name made of what it changes; no two alike.

    Where two variants would share a name, each keeps the one it has in the study.
    """
    found = {v.name: facts.labels.get(v.name) or _short(v, facts.labels) for v in facts.variants}
    counts = Counter(found.values())
    return {n: short if counts[short] == 1 and short not in found else n for n, short in found.items()}


def short_claim(claim: str, facts: Facts) -> str:
    """A claim with the names for readers in place of its variants and levels, where each is that of one alone."""
    every = short_names(facts)
    words = {word for other in facts.claims for word in (*other.text.split(), *other.a, *other.b)}
    found = {w: every.get(w) or _named(levels_in(w), facts.labels) for w in words if w in every or "=" in w}
    counts = Counter(found.values())
    shown = re.sub(r"(?:(?<= by )|(?<= within ))0(?=\.\d*[1-9])", "", claim).split(" ")
    said = " ".join(found[word] if word in found and counts[found[word]] == 1 else word for word in shown)
    # Of several things, `no positions beat …`; a single word may be a name.
    return re.sub(r"^(\S+ [^()]*[^\Waisu]s(?: \([^)]*\))?) (beat|match|do)e?s ", r"\1 \2 ", said)


def short_name(variant: str, labels: Mapping[str, str]) -> str:
    """The same of a variant of which the name alone is known; of `NAME · setting 001` its first part."""
    name, *rest = variant.split(" · ")
    short = labels.get(name) or (_named(levels_in(name), labels) if "=" in name else name)
    return " · ".join([short, *rest])


def _named(levels: Iterable[tuple[str, str]], labels: Mapping[str, str]) -> str:
    """`no positions + 1 head` of paths and levels."""
    return " + ".join(labels.get(f"{path}={level}") or level_name(path, level) for path, level in levels)


def levels_in(words: str) -> Iterator[tuple[str, str]]:
    """The paths and levels of `model.position=none,model.mixer=conv(a=1,b=2)`: a comma in brackets parts none."""
    start = 0
    for comma in [*re.finditer(r",(?=[\w.]+=)|$", words)]:
        piece = words[start : comma.start()]
        if piece.count("(") <= piece.count(")"):
            path, _, level = piece.partition("=")
            yield path, level
            start = comma.end()


def by_design(variant: VariantFacts) -> bool:
    """Whether the name of a variant is made of what it changes, and so says all of it."""
    return variant.name == ",".join(f"{path}={level}" for path, level in variant.changes.items())


def _short(variant: VariantFacts, labels: Mapping[str, str]) -> str:
    if variant.name == BASELINE or variant.placebo or not variant.changes or not by_design(variant):
        return variant.name
    return _named(variant.changes.items(), labels)


def level_name(path: str, level: str) -> str:
    """The label of a level at a path as a reader would say it.

    `batch norm`, `no positions`, `1 head`, `low-rank values (rank 8)`, `embedding dropout 0.1`, `lr 0.003`.
    """
    *_, parent, leaf = ["", *path.split(".")]
    name, _, parameters = level.partition("(")
    told = f" ({parameters.removesuffix(')').replace('=', ' ').replace(',', ', ')})" if parameters else ""
    noun = _NOUNS.get(leaf, leaf)
    if parent == "dropout":
        return f"{leaf.replace('_', ' ')} dropout {level}"
    if counted := re.fullmatch(r"num_(\w+?)s", leaf):
        return f"{level} {counted[1].replace('_', ' ')}{'' if level == '1' else 's'}"
    if name in _LEFT_OUT:
        return f"no {noun.replace('_', ' ')}{told}"
    if name == "on":
        return f"{noun.replace('_', ' ')}{told}"
    if not re.search(r"[a-z]{2}", name):
        return f"{noun} {level}"
    words = name.replace("_", "-") if name.isidentifier() else name
    return words + ("" if words.endswith(noun) else f" {noun.replace('_', ' ')}") + told


def in_short_names(words: str, names: Mapping[str, str]) -> str:
    """A sentence with the names of variants for readers in place of those that are made of paths."""
    # Most sentences have none, and a pattern of a thousand names takes long to make.
    paths = [full for full, short in names.items() if "=" in full and full != short] if "=" in words else []
    if not paths:
        return words
    found = "|".join(map(re.escape, sorted(paths, key=len, reverse=True)))
    return re.sub(rf"(?<![\w.=])(?:{found})(?![\w=(])", lambda name: names[name[0]], words)


def with_name(name: str) -> str:
    """`with additive scoring`, `without positions`, `with the baseline`."""
    if name in (BASELINE, "winner"):
        return f"with the {name}"
    return f"without {name.removeprefix('no ')}" if name.startswith("no ") else f"with {name}"
