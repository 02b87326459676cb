"""Documents in ten sources of unequal size: how often two models that are alike are told apart, by one run or many."""

import itertools
from collections.abc import Iterator, Mapping

import numpy as np
from scipy import special

from ablate.analysis.clusters import OverSources, by_source, degrees_of_freedom, jackknife_variance
from ablate.analysis.paired import Differences

from .check import OWN, Check, Place
from .simulations import Flags, Floats, band

LAYOUTS: Mapping[str, list[int]] = {
    "equal": [20] * 10,
    "linear": [2 * size for size in range(1, 11)],
    "geometric": [round(4 * 1.5**place) for place in range(10)],
    "two large": [100, 100] + [5] * 8,
}
"""The documents of each source."""
EFFECTS = (0.0, 0.3, 1.0)
"""The standard deviations of effects of sources, those of documents having 1."""
MOST = {0.05: 0.060, 0.00625: 0.009}
"""α → the level that METHODS §2 states."""
WHAT = "Documents in ten sources, no difference: `better` or `worse` at {}"
SEEDS = (3, 10)
OVER_SEEDS = "Documents in ten sources over several seeds, no difference: `better` or `worse` at 0.05"


def clusters(rng: np.random.Generator, place: Place) -> Iterator[Check]:
    """Twelve layouts with normal effects; with skewed effects, published alone."""
    for layout, effect in itertools.product(LAYOUTS, EFFECTS):
        sizes = np.array(LAYOUTS[layout])
        setting = {"sizes": layout, "effect of sources": effect}
        sums = sums_of(
            rng, 2 * place.studies, sizes, effect * rng.normal(size=(2 * place.studies, len(sizes)))
        )
        for alpha, most in MOST.items():
            yield at_most(WHAT.format(alpha), told(sums, sizes, alpha), setting, most=most, alpha=alpha)
        wrong = told(sums, sizes, 0.05, plain=True)
        yield at_most(
            WHAT.format(0.05), wrong, setting, most=MOST[0.05], alpha=0.05, rules="G − 1 degrees of freedom"
        )
    for layout, num_seeds in itertools.product(LAYOUTS, SEEDS):
        sizes = np.array(LAYOUTS[layout])
        found = told_over_seeds(rng, place.studies // 5, sizes, num_seeds)
        setting = {"sizes": layout, "seeds": num_seeds}
        yield at_most(OVER_SEEDS, found, setting, most=MOST[0.05], alpha=0.05)
    for layout in LAYOUTS:
        sizes = np.array(LAYOUTS[layout])
        effects = rng.exponential(size=(2 * place.studies, len(sizes))) - 1
        found = told(sums_of(rng, 2 * place.studies, sizes, effects), sizes, 0.05)
        what = f"{WHAT.format(0.05)}, skewed effects of sources"
        setting = {"sizes": layout, "effect of sources": 1.0}
        yield Check(what, setting, float(found.mean()), studies=len(found))


def at_most(
    what: str,
    found: Flags,
    setting: Mapping[str, float | str],
    *,
    most: float,
    alpha: float,
    rules: str = OWN,
) -> Check:
    """Returns how often a difference was found; with few studies, up to the upper edge of the band of α."""
    _, edge = band(len(found), alpha)
    value = float(found.mean())
    return Check(what, setting, value, high=max(most, edge), studies=len(found), rules=rules, error=True)


def sums_of(rng: np.random.Generator, studies: int, sizes: np.ndarray, effects: Floats) -> Floats:
    """Returns the sum over the documents of each source, (studies, G); within a source they vary by 1."""
    return sizes * effects + np.sqrt(sizes) * rng.normal(size=(studies, len(sizes)))


def told(sums: Floats, sizes: np.ndarray, alpha: float, *, plain: bool = False) -> Flags:
    """Returns whether a difference is found, (studies,); by the plain sum over clusters with G − 1 where `plain`."""
    num_documents = sizes.sum()
    means = sums.sum(axis=1) / num_documents
    residuals = sums - sizes * means[:, None]
    variance = jackknife_variance(residuals, sizes)
    df = degrees_of_freedom(sizes)
    if plain:
        df = len(sizes) - 1
        variance = len(sizes) / df * (residuals**2).sum(axis=1) / num_documents**2
    return 2 * special.stdtr(df, -np.abs(means) / np.sqrt(variance)) <= alpha


def told_over_seeds(rng: np.random.Generator, studies: int, sizes: np.ndarray, num_seeds: int) -> Flags:
    """Returns whether a difference is found over seeds, (studies,): effects of sources vary by 1, as documents do."""
    sources = np.repeat(np.arange(len(sizes)), sizes)
    found = np.zeros(studies, bool)
    for study in range(studies):
        of_documents = rng.normal(size=len(sizes))[sources] + rng.normal(size=len(sources))
        scores = of_documents + 0.3 * rng.normal(size=(num_seeds, len(sources)))
        differences = Differences.between(
            scores.mean(axis=1), np.zeros(num_seeds), examples=by_source(scores, sources)
        )
        over_sources = OverSources.of_seeds(differences, sources)
        found[study] = min(over_sources.above(0.0), over_sources.below(0.0)) <= 0.025
    return found
