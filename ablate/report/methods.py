"""The paragraph “Statistical methods” of a paper, written from what was done in one study."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby

from ablate.analysis.headline import matched
from ablate.analysis.noise import noise
from ablate.analysis.power import ALPHA
from ablate.analysis.runs import Runs, solving_metric
from ablate.base import wording
from ablate.core.claim import INTERACTION
from ablate.report import bibliography as cite
from ablate.report.bibliography import Sentence, Source
from ablate.report.brief.noise_floor import detectable, placebo, spread
from ablate.report.brief.verdicts import verdict_rows
from ablate.report.latex import running
from ablate.report.markdown import markdown_line
from ablate.report.section import Material
from ablate.report.sections.provenance import AT
from ablate.report.sections.tuning_given import budgets, parity
from ablate.report.speed_methods import measured
from ablate.report.tables import Row, number, rows_of

TITLE = "Statistical methods"
REDRAWN = {
    "fresh": (
        "Everything random was drawn anew for every seed: initial values, dropout, the order of the data, and the "
        "training, validation and test examples."
    ),
    "held_out": (
        "Initial values, dropout, the order of the data and the split into training and validation examples were "
        "drawn anew for every seed. The {test} test examples were set aside once and are the same for all seeds, so "
        "that every result is conditional on the pool that they come from."
    ),
    "resplit": (
        "Initial values, dropout, the order of the data and the split of one pool into training, validation and test "
        "examples were drawn anew for every seed. Variances are enlarged by the ratio of test to training examples"
    ),
}
"""By the pool of test examples; the last ends with its source."""
EXACT = "by an exact unconditional test of matched pairs"
DERIVED: Mapping[str, Sentence] = {
    "solved_rate": [f"solved rates {EXACT}", cite.SUISSA],
    "divergence_rate": [f"divergence rates {EXACT}", cite.SUISSA],
    "seed_spread": ["spreads over seeds by the test of Pitman and Morgan", cite.PITMAN, cite.MORGAN],
    "lr_sensitivity": [
        "sensitivity to the learning rate by its mean excess loss over the grid",
        cite.WORTSMAN,
    ],
    "steps_to_target": ["steps until the target, runs that never reach it counting with all of theirs"],
}
"""Metrics of claims that are no mean over runs: how they were compared."""


def methods(material: Material) -> list[Sentence]:
    """The paragraph, sentence by sentence; none where the study planned no comparison and timed nothing."""
    family = verdict_rows(material.comparisons)
    if not family:
        return [*speed, *_software(material)] if (speed := [*measured(material)]) else []
    return [
        *_design(material),
        *_outcome(material),
        *_tests(material, family),
        *_family(material, family),
        *_claims(material),
        *_diverged(material),
        *_settings(material),
        *_noise(material),
        *measured(material),
        *_software(material),
    ]


def as_latex(sentences: Sequence[Sentence]) -> str:
    """A paragraph."""
    words = _joined(sentences, running, lambda found: rf"~\cite{{{','.join(x.key for x in found)}}}")
    return f"\\paragraph{{{TITLE}.}}\n{words}\n"


def as_markdown(sentences: Sequence[Sentence]) -> str:
    """A paragraph, and the list of its papers."""
    words = _joined(sentences, str, lambda found: f" ({'; '.join(x.cited for x in found)})")
    listed = "".join(f"- {markdown_line(source.plain)}\n" for source in sources(sentences))
    return f"## {TITLE}\n\n{markdown_line(words)}\n" + (f"\n{listed}" if listed else "")


def sources(sentences: Sequence[Sentence]) -> list[Source]:
    """The papers that are cited, by their keys."""
    found = {piece.key: piece for sentence in sentences for piece in sentence if isinstance(piece, Source)}
    return [found[key] for key in sorted(found)]


def _joined(
    sentences: Sequence[Sentence], said: Callable[[str], str], cited: Callable[[list[Source]], str]
) -> str:
    """Texts as they are `said`, papers that follow one another as they are `cited` together."""

    def piece(pieces: list[str | Source]) -> str:
        papers = [piece for piece in pieces if isinstance(piece, Source)]
        return cited(papers) if papers else said("".join(map(str, pieces)))

    return " ".join(
        "".join(piece(list(group)) for _, group in groupby(sentence, type)) for sentence in sentences
    )


def _design(material: Material) -> Iterator[Sentence]:
    facts = material.facts
    variants = [variant for variant in facts.variants[1:] if not variant.placebo]
    several = f" on each of {len(facts.tasks)} tasks" if len(facts.tasks) > 1 else ""
    yield [
        f"The baseline and {wording.counted(len(variants), 'variant')} were trained{several} on the same "
        f"{wording.counted(len(facts.seeds), 'seed')}{', or the first of these' * bool(facts.looks)}, each a block: "
        "under one seed they share the data, their order and the initial values of the parameters that they have in "
        "common, so that differences are paired",
        cite.BOUTHILLIER,
        ".",
    ]
    if facts.looks:
        yield [
            f"{facts.looks_in_words}. At look k of K each p-value is divided by the weight k/(1 + ... + K), and the "
            "smallest so far decides, which the union bound allows for any stopping; an interval takes the same share "
            "of its level. The difference of a comparison that stopped early is biased away from 0."
        ]
    else:
        yield ["The number of seeds was fixed in advance."]
    pools = dict.fromkeys(task.sampling.pool for task in facts.tasks)
    for pool in pools:
        tasks = [task for task in facts.tasks if task.sampling.pool == pool]
        words = REDRAWN[pool].format(test=" or ".join(sorted({f"{task.sampling.test:,}" for task in tasks})))
        if len(pools) > 1:
            words = f"On {wording.joined([task.name for task in tasks])}: {words[0].lower()}{words[1:]}"
        yield [words, cite.NADEAU, "."] if pool == "resplit" else [words]
    yield from ([words] for words in matched(material.evidence))


def _outcome(material: Material) -> Iterator[Sentence]:
    facts = material.facts
    yield [
        f"A run is judged by its {wording.joined([*facts.judged])} on test data {AT.get(facts.at, facts.at)}."
    ]
    for task in facts.tasks:
        name = solving_metric(task, facts.metric)
        if task.outcome == "all_or_nothing" and name is not None:
            sign = "at most" if task.metrics[name].direction == "min" else "at least"
            least = wording.exact(task.metrics[name].solved or 0.0)
            yield [f"A run has solved {task.name} if its {name} is {sign} {least}."]


def _tests(material: Material, family: Sequence[Row]) -> Iterator[Sentence]:
    if any(row["decided_by"] == "t" for row in family):
        yield [
            "Differences were tested by two-sided paired t-tests over seeds, with 95 % intervals of the mean."
        ]
        if any(number(row["sd_example"]) is not None for row in family):
            yield [
                "Seeds and test examples are crossed random factors",
                cite.CORNFIELD,
                ", with approximate degrees of freedom",
                cite.SATTERTHWAITE,
                "; of the tests over both and over seeds alone the larger p-value and the wider interval count.",
            ]
    if rated := list(dict.fromkeys(str(row["task"]) for row in family if row["decided_by"] == "rate")):
        yield [
            f"On {wording.joined(rated)} a run either finds the solution or does not: there the seeds that one side "
            f"alone solved decide, {EXACT}",
            cite.SUISSA,
            ", and rates have exact 95 % intervals",
            cite.CLOPPER,
            ".",
        ]
    judged = material.facts.judged
    margins = {name: wording.exact(margin) for name, margin in judged.items() if margin is not None}
    if not margins:
        yield ["No margin of equivalence was declared, and none of the comparisons can show equivalence."]
        return
    within = wording.joined(
        [f"±{margin}{f' of {name}' * (len(judged) > 1)}" for name, margin in margins.items()]
    )
    halves = "Where rates decide, half of it bounds the share of seeds that one side alone solves."
    yield [
        f"Equivalence is a difference within {within}, the declared margin, shown by two one-sided tests",
        cite.SCHUIRMANN,
        f". {halves}" if rated else ".",
    ]


def _family(material: Material, family: Sequence[Row]) -> Iterator[Sentence]:
    m, level = len(family), wording.exact(ALPHA)
    each = f"The planned comparison was decided at {level}"
    if m > 1:
        each = (
            f"The {m} planned comparisons are one family, each decided at {level}/{m} for a difference and for "
            f"equivalence alike, so that the chance of any false verdict is at most {level}"
        )
    yield [f"{each}. All other comparisons are exploratory."]


def _claims(material: Material) -> Iterator[Sentence]:
    claims = material.facts.claims
    early, late = ([claim for claim in claims if claim.exploratory is which] for which in (False, True))
    if early:
        days = sorted({claim.declared[:10] for claim in early if claim.declared})
        on = f", {' and '.join(dict.fromkeys([days[0], days[-1]]))}" if days else ""
        holm: Sentence = [", with the correction of Holm", cite.HOLM] if len(early) > 1 else []
        family = f"as a family of its own at {wording.exact(ALPHA)}"
        count = wording.counted(len(early), "claim")
        yield [f"Declared before the first trial{on}: {count}, {family}", *holm, "."]
    if late:
        yield [f"Declared after trials existed, and exploratory: {wording.counted(len(late), 'claim')}."]
    if material.facts.margin is None and any(claim.kind in ("matches", "does_not_lose") for claim in claims):
        yield ["Claims of a match or of no loss name their margin, for one-sided tests", cite.SCHUIRMANN, "."]
    if any(claim.kind == INTERACTION for claim in claims):
        yield ["Claims of an interaction rest on the difference of differences of each seed."]
    for name in dict.fromkeys(claim.metric.partition("@")[0] for claim in claims):
        if name in DERIVED:
            yield ["Claims compare ", *DERIVED[name], "."]


def _diverged(material: Material) -> Iterator[Sentence]:
    facts, found = material.facts, Runs(material.evidence)
    sides = found.sides()
    total = sum(int(side.asked.sum()) for side in sides)
    missing = sum(int((side.asked & ~side.ended).sum()) for side in sides)
    diverged = sum(side.diverged for side in sides)
    if diverged:
        judged = [task.metrics[name] for task in facts.tasks for name in facts.judged if name in task.metrics]
        floors = sorted({metric.floor for metric in judged if metric.floor is not None})
        known = list(map(wording.significant, floors))
        scored = f"are scored at the floor of the metric ({' or '.join(known)}), and no pair is left out"
        if not known:
            scored = "cannot be scored, for the metric has no floor; comparisons with them stay undecided"
        exact = "Rates of divergence have exact 95 % intervals"
        yield [f"{wording.share(diverged, total)} runs diverged; they {scored}. {exact}", cite.CLOPPER, "."]
    else:
        grid = any(bool(grid.diverged.any()) for grid in found.grids.values())
        yield ["No run diverged but for those of the sensitivity grid." if grid else "No run diverged."]
    if missing:
        runs = f"{wording.share(missing, total)} planned runs"
        yield [f"{runs} have no result; comparisons that need them have no verdict."]


def _settings(material: Material) -> Iterator[Sentence]:
    facts, searched = material.facts, material.searched
    for path, grid in facts.features.get("stress", {}).items():
        values = ", ".join(map(wording.brief, grid))
        yield [f"Sensitivity: every variant was also trained with {path} = {values}", cite.WORTSMAN, "."]
    if searched is None or not facts.searched:
        at = f": all variants were trained at {facts.rate}, and the verdicts hold there" if facts.rate else ""
        yield [f"Hyperparameters were not tuned{at}."]
    elif facts.searched == "sweep":
        paths = wording.joined([parameter.path for parameter in searched.facts.parameters])
        yield [
            f"The variants are the best of {len(searched.trials)} settings of a search over {paths} (sampler "
            f"{searched.facts.sampler})",
            cite.OPTUNA,
            "; they were trained again on seeds that did not choose them.",
        ]
    elif len(spent := budgets(material)):
        yield [
            parity(searched.facts, spent).removesuffix("."),
            cite.OPTUNA,
            ". No comparison rests on the tuning seeds. The settings found are taken as given: the intervals do not "
            "hold the noise of tuning.",
        ]


def _noise(material: Material) -> Iterator[Sentence]:
    rows = rows_of(noise(material.evidence, material.comparisons))
    for row in rows:
        on = f" ({row['metric']}, {row['task']})" if len(rows) > 1 else ""
        yield [f"Spread of the baseline over seeds{on}: {spread(row)}. Detectable: {detectable(row)}."]
        if row["placebo"]:
            yield [f"Placebo, the baseline with other initial values and dropout{on}: {placebo(row)}."]


def _software(material: Material) -> Iterator[Sentence]:
    known = material.facts.environment
    versions = ", ".join(f"{name} {version}" for name, version in (known.get("versions") or {}).items())
    dirty = " with uncommitted changes" if known.get("dirty") else ""
    commit = f"commit {str(known['commit'])[:10]}{dirty}" if known.get("commit") else ""
    if said := "; ".join(filter(None, [versions, commit, str(known.get("machine") or "")])):
        yield [f"Software and machine: {said}."]
