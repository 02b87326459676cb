"""Scores of agents in games of other units, and what a call of `analyse` makes of them."""

import numpy as np
import pandas as pd
import pytest

import ablate
from ablate.base.errors import Invalid

CALL = {"baseline": "dqn", "variant": "agent", "metric": "score", "direction": "max"}
WORDS = ["--baseline", "dqn", "--variant", "agent", "--metric", "score", "--direction", "max"]
BY_GAME = {"column": {"condition": "game"}}


def games(num_games, num_seeds=5, *, own_seeds=False):
    """Returns the scores of three agents in games of other units, whose gains differ between games."""
    rng = np.random.default_rng(7)
    rows = []
    for place in range(num_games):
        human = float(np.round(10 ** rng.uniform(1, 4), 1))
        lift = rng.normal(1, 0.3)
        for agent, gain in (("dqn", 0.0), ("rainbow", 0.12), ("sparse", 0.25)):
            for seed in range(num_seeds):
                row = {"agent": agent, "game": f"g{place}", "seed": seed + place * num_seeds * own_seeds}
                score = human * (0.5 + gain * lift + rng.normal(0, 0.15))
                rows.append(row | {"score": score, "human": human, "size": 2**place})
    return pd.DataFrame(rows)


def facts(frame, **options):
    return ablate.analyse(frame, **{**CALL, **BY_GAME, **options}).evidence.facts


def refusal(frame, **options):
    with pytest.raises(Invalid) as caught:
        facts(frame, **options)
    return str(caught.value)


def summaries(num_runs=5):
    table = games(3).groupby(["agent", "game"])["score"].agg(["mean", "std"]).reset_index()
    return table.rename(columns={"mean": "score_mean", "std": "score_std"}).assign(n=num_runs)
