"""Documents in ten sources of unequal size: how often two models that are alike are told apart, by one run or many."""

import itertools
from collections.abc import Callable, Iterator, Mapping

import numpy as np
from scipy import special

from ablate.analysis.clusters import OverSources, degrees_of_freedom, jackknife_variance
from ablate.analysis.paired import Differences

from .check import Check, Place, at_most
from .simulations import Flags, Floats

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
SEEDS = (3, 5, 10)
OVER_SEEDS = "Documents in sources over several seeds, no difference: `better` or `worse` at {}"
LAYOUTS_OVER_SEEDS: Mapping[str, list[int]] = {
    "two": [30, 30],
    **LAYOUTS,
    "one large of 30": [300] + [5] * 29,
    "hundred": [4] * 100,
}
SEED_VARIANCES = (0.0, 1.0, 4.0)
"""The variances of the means of seeds, that which sources add to the mean of a run being 1."""
MOST_OVER_SEEDS = {0.05: 0.061, 0.00625: 0.0087}
"""α → the level over several seeds that METHODS §2 states."""
Draw = Callable[[tuple[int, ...]], Floats]


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
    for layout, num_seeds, variance in itertools.product(LAYOUTS_OVER_SEEDS, SEEDS, SEED_VARIANCES):
        sizes = np.array(LAYOUTS_OVER_SEEDS[layout])
        setting = {"sizes": layout, "seeds": num_seeds, "variance of seeds / sources": variance}
        p = told_over_seeds(rng, place.studies // 2, sizes, num_seeds, variance, rng.standard_normal)
        for alpha, most in MOST_OVER_SEEDS.items():
            yield at_most(OVER_SEEDS.format(alpha), 2 * p <= alpha, setting, most=most, alpha=alpha)
    for layout in LAYOUTS:
        sizes = np.array(LAYOUTS[layout])
        effects = rng.exponential(size=(2 * place.studies, len(sizes))) - 1
        found = told(sums_of(rng, 2 * place.studies, sizes, effects), sizes, 0.05)
        what = f"{WHAT.format(0.05)}, skewed effects of sources"
        setting = {"sizes": layout, "effect of sources": 1.0}
        yield Check(what, setting, float(found.mean()), studies=len(found))


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


def told_over_seeds(
    rng: np.random.Generator,
    studies: int,
    sizes: np.ndarray,
    num_seeds: int,
    seed_variance: float,
    draw: Draw,
) -> Floats:
    """Returns the one-sided p of the nearer side over seeds, (studies,).

    Effects of sources come from `draw`; documents and their meetings with seeds vary by 1 and 0.3. The means of seeds
    vary by `seed_variance` times what sources add to the mean of a run.
    """
    num_documents = sizes.sum()
    of_sources = (sizes**2 + sizes).sum() / num_documents**2
    p = np.zeros(studies)
    for study in range(studies):
        documents = sizes * draw((len(sizes),)) + np.sqrt(sizes) * rng.normal(size=len(sizes))
        seeds = np.sqrt(seed_variance * of_sources) * rng.normal(size=(num_seeds, 1))
        sums = documents + sizes * seeds + 0.3 * np.sqrt(sizes) * rng.normal(size=(num_seeds, len(sizes)))
        means = sums.sum(axis=1) / num_documents
        examples = means[:, None] + len(sizes) / num_documents * (sums - sizes * means[:, None])
        differences = Differences.between(means, np.zeros(num_seeds), examples=examples)
        over_sources = OverSources.of_seeds(differences, np.repeat(np.arange(len(sizes)), sizes))
        p[study] = min(over_sources.above(0.0), over_sources.below(0.0))
    return p
