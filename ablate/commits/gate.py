"""A stream of tries: each is kept, discarded or to be tested again, with one error rate for all of them.

One run screens a try. A promising one is confirmed on fresh seeds, as many runs of the try as of the base. The standard
deviation of a run, taken for equal in all, is pooled over the first runs of the base and both sides of every
confirmation, so that few runs decide: t on the pooled degrees of freedom. The j-th confirmation is judged one-sided at
α_j = 0.05 · j^−1.6 / ζ(1.6), whatever the earlier ones said. The α_j add up to 0.05, so that by the union bound a
stream without end keeps a change that changes nothing with a probability of at most 0.05.

All values are oriented, so that more is better. Lines of a ledger: `run`, a finished run; and those with the `state`
after them, by their verdict: the first base, with the call; `confirm`, the start of a confirmation; what was said of a
try.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import fmean, pvariance, stdev
from typing import Any, NamedTuple

from ablate.analysis.power import ALPHA, detectable, t_p_above
from ablate.base.errors import AblateError
from ablate.commits.bench import opened

FIRST = 10  # Runs of the base at the start of a ledger.
PAIRS = 5  # Of a confirmation.
SCREENED = 0.2  # One-sided p up to which a single run is promising.
# α_1, α_2, …, more than any stream needs; ζ(1.6) = 2.2857656.
SHARES = [ALPHA * j**-1.6 / 2.2857656 for j in range(1, 10_001)]


class State(NamedTuple):
    """What is known before a try."""

    base: Sequence[float]  # Against which single runs are screened.
    sd: float  # Of a run, pooled, on `df` degrees of freedom.
    df: int
    confirmations: int = 0  # That have begun.
    seed: int = FIRST  # The first that no run has had.


def attempt(
    state: State,
    screen: Callable[[int], float],
    pairs: Callable[[Sequence[int]], Sequence[Sequence[float]]],
    begun: Callable[[State], object],
) -> tuple[dict[str, Any], State]:
    """Screens a try, and confirms a promising one; returns the verdict's fields and the next state.

    `screen` runs it under a seed, `pairs` the base and the try under several; `begun` hears of a confirmation, with the
    state that it leaves even if it never ends. `retest`: the try would be kept if no other were ever confirmed.
    """
    after, root = state._replace(seed=state.seed + 1 + PAIRS), (2 / PAIRS) ** 0.5
    gain, alpha, verdict = screen(state.seed) - fmean(state.base), SCREENED, "discard"
    p = t_p_above(gain, state.sd * (1 + 1 / len(state.base)) ** 0.5, state.df, 0)
    if p <= SCREENED:
        after = after._replace(confirmations=state.confirmations + 1)
        begun(after)
        base, tried = sides = pairs(range(state.seed + 1, after.seed))
        df = state.df + 2 * (PAIRS - 1)
        sd = ((state.df * state.sd**2 + PAIRS * sum(map(pvariance, sides))) / df) ** 0.5
        gain, alpha = fmean(tried) - fmean(base), SHARES[state.confirmations]
        p = t_p_above(gain, sd * root, df, 0)
        verdict = "keep" if p <= alpha else "retest" if p <= ALPHA else "discard"
        after = after._replace(base=tried if verdict == "keep" else state.base, sd=sd, df=df)
    return {
        "verdict": verdict,
        "difference": gain,
        "p": p,
        "alpha": alpha,
        "confirmations": after.confirmations,
        # What the next confirmation finds with 80 % power, and what all later ones have.
        "smallest_effect": after.sd * root * detectable(after.df, 2 * SHARES[after.confirmations]),
        "alpha_left": ALPHA - sum(SHARES[: after.confirmations]),
    }, after


def gate(call: Mapping[str, Any], ledger: Path, names: Sequence[str]) -> dict[str, Any]:
    """What is said of the second commit; the first is the base. Raises `NotMeasured`."""
    with opened(call, ledger, names) as bench:
        base, head = bench.trees
        if not any("state" in line for line in bench.lines):
            [values] = bench.values([base], range(FIRST))
            bench.add(
                call=call,
                verdict="keep",
                commit=base.name,
                tree=base.digest,
                state=State(values, stdev(values), FIRST - 1)._asdict(),
            )
        lines = [line for line in bench.lines if "state" in line]
        kept = [line for line in lines if line["verdict"] == "keep"][-1]
        if (lines[0]["call"], kept["tree"]) != (call, base.digest):
            raise AblateError(
                f"{ledger}: is of {' '.join(lines[0]['call']['command'])} and the base {kept['commit']}; repeat the "
                "call that began it with this --base, or name another ledger"
            )
        # What a kill has cut short goes on from before.
        while (lines[-1]["verdict"], lines[-1]["tree"]) == ("confirm", head.digest):
            lines.pop()
        own = {"commit": head.name, "tree": head.digest}
        said, after = attempt(
            State(**lines[-1]["state"]),
            lambda seed: bench.run(head, seed),
            lambda seeds: bench.values(bench.trees, seeds),
            lambda begun: bench.add(verdict="confirm", **own, state=begun._asdict()),
        )
        bench.add(**said, **own, state=after._asdict())
        return said | own | {"exit_code": {"keep": 0, "discard": 1, "retest": 3}[said["verdict"]]}
