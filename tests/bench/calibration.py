"""How often the verdicts err, and how often the rules that they replaced did; `make bench` writes the figures.

More settings and more studies than the tests in tests/analysis simulate; a few minutes on one core.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

sys.path.insert(0, str(Path(__file__).parents[1]))

from simulations import (
    GRID,
    Diverging,
    Mixture,
    Squares,
    binary,
    falsely_rejected,
    family,
    p_rates,
    p_tost,
    p_two_sided,
    size_of_rates,
    upper_edge,
)

from ablate.analysis.rates import rate_p

Rows = Iterator[dict[str, Any]]


def mixtures(rng: np.random.Generator, studies: int) -> Rows:
    """Called equivalent within .02: a variant that fails one time in ten, true difference −.044."""
    for n in (5, 8, 10, 20):
        made = Mixture.of(rng, studies, n, 0.1)
        before, now = p_tost(made.a - made.b, 0.02), made.p_equivalent(0.02)
        yield {"n": n, "before": (before <= 0.05).mean(), "now": (now <= 0.05).mean(), "bound": 0.05}


def mixtures_at_the_margin(rng: np.random.Generator, studies: int) -> Rows:
    """Called equivalent: failures and a shift that make a true difference of exactly the margin, .15."""
    for n, shift in itertools.product((10, 20, 40, 80), (0.0, 0.03, 0.07)):
        made = Mixture.of(rng, studies // 4, n, (0.15 - shift) / (0.44 - shift), shift)
        before, now = p_tost(made.a - made.b, 0.15), made.p_equivalent(0.15)
        row = {"n": n, "shift": shift, "before": (before <= 0.05).mean(), "now": (now <= 0.05).mean()}
        yield row | {"bound": 0.05}


def coverage(rng: np.random.Generator, studies: int) -> Rows:
    """Of the 95 % interval over seeds alone and over seeds and examples; normal effects."""
    for sds, n, m in itertools.product(GRID, (3, 5, 10, 20), (200, 500, 1000)):
        now, before = Squares.normal(rng, studies, n, m, sds).covers()
        yield {"sds": sds, "n": n, "m": m, "before": before, "now": now, "bound": 0.93}


def coverage_of_answers(rng: np.random.Generator, studies: int) -> Rows:
    """The same of right and wrong answers: by level, and effects of runs, of examples, and of examples on one side."""
    effects = ((0.1, 1.0, 0.3), (0.3, 0.5, 0.5), (0.0, 1.5, 0.7), (0.1, 0.3, 0.0))
    for level, sds, n, m in itertools.product((0.5, 1.5, 2.0), effects, (3, 5, 10, 20), (200, 500, 1000)):
        found = []
        for _ in range(4):
            d, truth = binary(rng, min(studies, 2_000_000 // (n * m)), n, m, level, sds)
            found.append(Squares.of(d).covers(truth))
        now, before = np.mean(found, axis=0)
        yield {"level": level, "sds": sds, "n": n, "m": m, "before": before, "now": now, "bound": 0.93}


def families(rng: np.random.Generator, studies: int) -> Rows:
    """Any true null rejected among ten variants, `nulls` of them no different and the others off by the margin.

    `before`: Holm on the list of each test; `shared`: the share of the variance that a common baseline makes.
    """
    for n, margin, nulls, shared in itertools.product(
        (5, 10, 20), (0.8, 1.0, 2.0, 4.0), (0, 3, 5, 7, 10), (0.0, 0.5)
    ):
        shifts = [0.0] * nulls + [margin * (-1) ** i for i in range(10 - nulls)]
        d = family(rng, studies, shifts, n, shared)
        row = {"n": n, "margin": margin, "nulls": nulls, "shared": shared}
        before, now = falsely_rejected(d, shifts, margin, holm=True), falsely_rejected(d, shifts, margin)
        yield row | {"before": before, "now": now, "bound": upper_edge(studies)}


def worst_diverge(rng: np.random.Generator, studies: int) -> Rows:
    """Falsely `better`: a variant of the baseline's distribution that loses the worst fifth of its runs.

    `before`: judged on the pairs that converged.
    """
    for n, shared in itertools.product((3, 5, 8, 10, 20), (0.0, 0.5, 0.9)):
        made = Diverging.worst(rng, 4 * studies, n, shared)
        now = (made.rejected & (made.scored.mean(axis=1) > 0)).mean()
        before = (made.rejected_where_converged() > 0).mean()
        yield {"n": n, "correlation": shared, "before": before, "now": now, "bound": 0.025}


def identical_diverge(rng: np.random.Generator, studies: int) -> Rows:
    """Any verdict about variants of one distribution, both of which lose a share of their runs."""
    for n, rate, spread in itertools.product((5, 8, 10, 20), (0.1, 0.2, 0.3), (0.002, 0.05)):
        made = Diverging.alike(rng, 4 * studies, n, rate, spread)
        before = (made.rejected_where_converged() != 0).mean()
        row = {"n": n, "rate": rate, "spread": spread, "before": before, "now": made.rejected.mean()}
        yield row | {"bound": upper_edge(4 * studies, 0.051)}


def rates(rng: np.random.Generator, studies: int) -> Rows:
    """Size of tests of two rates over the same seeds, by enumeration; and where a seed's chance varies, by simulation.

    `before`: the t test of the difference of runs that are 1 or 0; `mcnemar`: the exact test given b + c.
    """
    for n in range(3, 21):

        def t(b: int, c: int, n: int = n) -> float:
            return float(p_two_sided(0.9 * np.repeat([1.0, -1.0, 0.0], [b, c, n - b - c])))

        def mcnemar(b: int, c: int) -> float:
            return float(stats.binomtest(b, b + c).pvalue) if b + c else 1.0

        def now(b: int, c: int, n: int = n) -> float:
            return rate_p(b, c, n)

        sides = rng.random((2, 4 * studies, n)) < rng.beta(1.6, 0.4, (4 * studies, n))
        yield {
            "n": n,
            "before": size_of_rates(n, t),
            "mcnemar": size_of_rates(n, mcnemar),
            "now": size_of_rates(n, now),
            "correlated": (p_rates(*sides) <= 0.05).mean(),
            "bound": 0.05,
        }


CHECKS: tuple[Callable[[np.random.Generator, int], Rows], ...] = (
    *(mixtures, mixtures_at_the_margin, coverage, coverage_of_answers, families),
    *(worst_diverge, identical_diverge, rates),
)


def main() -> None:
    """Simulates, prints the range of each check, and writes `calibration.json` into the folder that is named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("results/bench"))
    parser.add_argument("--studies", type=int, default=20_000, help="simulated studies a setting")
    options = parser.parse_args()
    from ablate.records.environment import environment

    found: dict[str, Any] = {}
    print(f"{'':<24}{'settings':>9}{'before':>16}{'now':>16}{'bound':>8}")
    for index, check in enumerate(CHECKS):
        rows = list(check(np.random.default_rng(index), options.studies))
        found[check.__name__] = [
            {name: x if isinstance(x, tuple) else round(float(x), 5) for name, x in row.items()}
            for row in rows
        ]
        ranges = [
            "{:.3f} – {:.3f}".format(*np.quantile([r[x] for r in rows], [0, 1])) for x in ("before", "now")
        ]
        print(
            f"{check.__name__:<24}{len(rows):>9}{ranges[0]:>16}{ranges[1]:>16}{rows[0]['bound']:>8.3f}",
            flush=True,
        )
    options.out.mkdir(parents=True, exist_ok=True)
    written = {
        "studies": options.studies,
        "checks": found,
        "environment": environment("make bench", [Path(__file__)]),
    }
    (options.out / "calibration.json").write_text(json.dumps(written, indent=1) + "\n")


if __name__ == "__main__":
    main()
