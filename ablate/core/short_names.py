"""Names of variants for readers: “additive scoring” for `model.mixer.score=additive`. CSV files keep the paths."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from ablate.core.facts import BASELINE, StudyFacts, VariantFacts
from ablate.core.spelling import SPELLINGS, TERMS, compound, spelled

# Ends of paths whose word, with its level before it, would not be read as it is meant.
_NOUNS = {"score": "scoring", "position": "positions", "value": "values", "cross": "cross connection"}
_LEFT_OUT = ("none", "off")


def short_names(facts: StudyFacts) -> dict[str, str]:
    """Variant → its label in the study's `labels:`, or a name made of what it changes; no two alike.

    Where two variants would share a name, each keeps the one it has in the study.
    """
    found = {v.name: facts.labels.get(v.name) or _short(v, facts.labels) for v in facts.variants}
    counts = Counter(found.values())
    return {n: short if counts[short] == 1 and short not in found else n for n, short in found.items()}


def short_claim(claim: str, facts: StudyFacts) -> str:
    """Returns a claim with names for readers in place of its variants, levels and metrics.

    A name that two of its words would share is used for neither.
    """
    variants = short_names(facts)
    words = {word for other in facts.claims for word in (*other.text.split(), *other.a, *other.b)}
    names = {}
    for word in words:
        if word in variants or "=" in word:
            names[word] = variants.get(word) or _named(levels_in(word), facts.labels)
    counts = Counter(names.values())
    metrics = {metric for other in facts.claims for metric in (other.metric, other.metric_less)}

    # What a user may write as 0.02.
    written = re.sub(r"(?<= by )(?=\.\d)|(?<= within )(?=\.\d)", "0", claim).split(" ")
    said = []
    for before, word in zip(["", *written], written, strict=False):
        if before == "on" and word in metrics:
            said.append(spelled(word))
        else:
            name = names.get(word, "")
            said.append(name if counts[name] == 1 else word)
    # Of several things, `no positions beat …`; a single word may be a name.
    several = r"^(\S+ [^()]*[^\Waisu]s(?: \([^)]*\))?) (beat|match|do)e?s "
    return re.sub(several, r"\1 \2 ", " ".join(said))


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
    """Returns the label of a level at a path as a reader would say it.

    `batch norm`, `GELU`, `no positions`, `1 head`, `low-rank values (rank 8)`, `embedding dropout 0.1`,
    `learning rate 0.003`.
    """
    *_, parent, leaf = ["", *path.split(".")]
    name, _, parameters = level.partition("(")
    details = f" ({_details(parameters.removesuffix(')'))})" if parameters else ""
    noun = _NOUNS.get(leaf) or spelled(leaf)
    if parent == "dropout":
        return f"{spelled(leaf)} dropout {level}"
    if counted := re.fullmatch(r"num_(\w+?)s", leaf):
        return f"{level} {spelled(counted[1])}{'' if level == '1' else 's'}"
    if name in _LEFT_OUT:
        return f"no {noun}{details}"
    if name == "on":
        return f"{noun}{details}"
    if name in TERMS:
        return f"{SPELLINGS[name]}{details}"
    if not re.search(r"[a-z]{2}", name):
        return f"{noun} {level}"
    words = compound(name) if name.isidentifier() else name
    return f"{words}{details}" if words.endswith(noun) else f"{words} {noun}{details}"


def _details(parameters: str) -> str:
    """Returns the parameters of a part in words: `kernel size 3, bias off` of `kernel_size=3,bias=off`."""
    # Not the names of files.
    words = re.sub(r"(?<![\w./-])[^\W\d]\w*(?![\w./-])", lambda name: spelled(name[0]), parameters)
    words = re.sub(r"[^\W\d][\w.]*=", lambda key: " ".join(map(spelled, key[0].split("."))), words)
    return words.replace("=", " ").replace(",", ", ")


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
