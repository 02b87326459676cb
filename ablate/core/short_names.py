"""Names of variants for readers: “additive scoring” for `model.mixer.score=additive`. CSV files keep the paths."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from ablate.core.facts import BASELINE, StudyFacts, VariantFacts
from ablate.core.spelling import SPELLINGS, TERMS, compound, spelled

# Ends of paths whose word, with its level before it, would not be read as it is meant.
_NOUNS = {
    "score": "scoring",
    "position": "positions",
    "value": "values",
    "cross": "cross connection",
    "residual": "residual connections",
    "mixer.tied": "tied queries and keys",
    "embedding.tied": "tied embeddings",
}
# Begins the paths of settings of a user's own code.
_OWN_CODE = "config."
_LEFT_OUT = ("none", "off", "false", "False")
_PUT_IN = ("on", "true", "True")
# Words that begin the name of a switch: what follows is what is switched.
_SWITCHES = ("use ", "enable ", "with ", "apply ", "add ")


def short_names(facts: StudyFacts) -> dict[str, str]:
    """Returns variant → its label in the study's `labels:`, or a name made of what it changes; no two alike.

    Where two variants would share a name, each keeps the one it has in the study.
    """
    candidates = {}
    for variant in facts.variants:
        candidates[variant.name] = facts.labels.get(variant.name) or _short(variant, facts.labels)
    counts = Counter(candidates.values())
    names = {}
    for name, short in candidates.items():
        is_unique = counts[short] == 1 and short not in candidates
        names[name] = short if is_unique else name
    return names


def short_claim(claim: str, facts: StudyFacts) -> str:
    """Returns a claim with names for readers in place of its variants, levels and metrics.

    A name that two of its words would share is used for neither.
    """
    variants = short_names(facts)
    words: set[str] = set()
    metrics: set[str] = set()
    for other in facts.claims:
        words.update([*other.text.split(), *other.a, *other.b])
        metrics.update(other.metrics)
    names = {}
    for word in words:
        if word in variants or "=" in word:
            names[word] = variants.get(word) or _named(levels_in(word), facts.labels)
    counts = Counter(names.values())

    # Numbers below one keep their zero: `by .02` becomes `by 0.02`.
    with_zeros = re.sub(r"(?<= by )(?=\.\d)|(?<= within )(?=\.\d)", "0", claim)
    parts = []
    before = ""
    for word in with_zeros.split(" "):
        name = names.get(word, "")
        if before == "on" and word in metrics:
            parts.append(spelled(word))
        elif counts[name] == 1:
            parts.append(name)
        else:
            parts.append(word)
        before = word
    # `no positions beats …` becomes `no positions beat …`. The subject has several words, as a single word may be a
    # name, and ends with the `s` of a plural, not as `bias` or `loss` do.
    plural_subject = r"^(\S+ [^()]*[^\Waisu]s(?: \([^)]*\))?) (beat|match|do|gain)e?s "
    return re.sub(plural_subject, r"\1 \2 ", " ".join(parts))


def short_name(variant: str, labels: Mapping[str, str]) -> str:
    """Returns the name for readers of a variant of which the name alone is known.

    Of a name such as `NAME · setting 001`, the first part is replaced.
    """
    name, *rest = variant.split(" · ")
    short = labels.get(name, "")
    if not short:
        short = _named(levels_in(name), labels) if "=" in name else name
    return " · ".join([short, *rest])


def runner_up_name(runner_up: str, names: Mapping[str, str]) -> str:
    """Returns the name for readers of a variant at a setting: `no positions at training.lr=0.03`.

    names: variant → its name for readers.
    """
    variant, at, setting = runner_up.rpartition(" at ")
    return f"{names.get(variant, variant)}{at}{setting}"


def _named(levels: Iterable[tuple[str, str]], labels: Mapping[str, str]) -> str:
    """Returns paths and levels in words: `no positions + 1 head`."""
    names = [labels.get(f"{path}={level}") or level_name(path, level) for path, level in levels]
    return " + ".join(names)


def levels_in(words: str) -> Iterator[tuple[str, str]]:
    """Yields the paths and levels of `model.position=none,model.mixer=conv(a=1,b=2)`; a comma in brackets is no end."""
    start = 0
    for comma in re.finditer(r",(?=[\w.]+=)|$", words):
        piece = words[start : comma.start()]
        if piece.count("(") <= piece.count(")"):
            path, _, level = piece.partition("=")
            yield path, level
            start = comma.end()


def by_design(variant: VariantFacts) -> bool:
    """Returns whether the name of a variant is made of what it changes, and so says all of it."""
    changes = [f"{path}={level}" for path, level in variant.changes.items()]
    return variant.name == ",".join(changes)


def _short(variant: VariantFacts, labels: Mapping[str, str]) -> str:
    """Returns a name made of what a variant changes, where its own is made so too."""
    if variant.name == BASELINE or variant.placebo or not variant.changes or not by_design(variant):
        return variant.name
    return _named(variant.changes.items(), labels)


def level_name(path: str, level: str) -> str:
    """Returns the name of a level for readers: `batch norm`, `1 head`, `learning rate 0.003`.

    `batch norm`, `GELU`, `no positions`, `1 head`, `low-rank values (rank 8)`, `embedding dropout 0.1`,
    `learning rate 0.003`; of a user's own code `act tanh`.
    """
    *_, parent, leaf = ["", *path.split(".")]
    name, _, parameters = level.partition("(")
    details = f" ({_details(parameters.removesuffix(')'))})" if parameters else ""
    noun = _NOUNS.get(f"{parent}.{leaf}") or _NOUNS.get(leaf) or spelled(leaf)
    if parent == "dropout":
        return f"{spelled(leaf)} dropout {level}"
    counted = re.fullmatch(r"num_(\w+?)s", leaf)
    if counted:
        plural = "" if level == "1" else "s"
        return f"{level} {spelled(counted[1])}{plural}"
    if name in _LEFT_OUT:
        return f"no {_switched(noun)}{details}"
    if name in _PUT_IN:
        return f"{_switched(noun)}{details}"
    if path.startswith(_OWN_CODE):
        # What a setting of a user's own is called comes first: nobody knows whether its level would read as a noun.
        return f"{noun} {SPELLINGS[name] if name in TERMS else name}{details}"
    if name in TERMS:
        return f"{SPELLINGS[name]}{details}"
    if not re.search(r"[a-z]{2}", name):
        return f"{noun} {level}"
    words = compound(name) if name.isidentifier() else name
    if not words.endswith(noun):
        words = f"{words} {noun}"
    return f"{words}{details}"


def _switched(noun: str) -> str:
    """Returns what a switch is for: `EMA` of `use EMA`."""
    for switch in _SWITCHES:
        if noun.startswith(switch):
            return noun.removeprefix(switch)
    return noun


def _details(parameters: str) -> str:
    """Returns the parameters of a part in words: `kernel size 3, bias off` of `kernel_size=3,bias=off`."""
    # Words, but not those of the names of files.
    text = re.sub(r"(?<![\w./-])[^\W\d]\w*(?![\w./-])", lambda word: spelled(word[0]), parameters)
    # Paths, each name by itself.
    text = re.sub(r"[^\W\d][\w.]*=", lambda path: " ".join(map(spelled, path[0].split("."))), text)
    return text.replace("=", " ").replace(",", ", ")


def in_short_names(words: str, names: Mapping[str, str]) -> str:
    """Returns a sentence with the names of variants for readers in place of those that are made of paths.

    names: variant → its name for readers.
    """
    # Most sentences have none, and a pattern of a thousand names takes long to make.
    if "=" not in words:
        return words
    paths = [name for name, short in names.items() if "=" in name and name != short]
    if not paths:
        return words
    pattern = "|".join(map(re.escape, sorted(paths, key=len, reverse=True)))
    return re.sub(rf"(?<![\w.=])(?:{pattern})(?![\w=(])", lambda match: names[match[0]], words)


def with_name(name: str) -> str:
    """Returns a variant behind its preposition: `with additive scoring`, `without positions`, `with the baseline`."""
    if name in (BASELINE, "winner"):
        return f"with the {name}"
    if name.startswith("no "):
        return f"without {name.removeprefix('no ')}"
    return f"with {name}"
