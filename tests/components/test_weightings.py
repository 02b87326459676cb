import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ablate.base.registry import CATALOGUE
from ablate.components.sizes import Sizes
from ablate.components.weightings import Weighting

CATALOGUE.load_builtin()
SIZES = Sizes(d_model=6, max_len=5, num_heads=2, d_q=3, d_k=3, d_v=3)
NAMES = CATALOGUE.names("weighting")


def build(name: str) -> Weighting:
    return CATALOGUE.get("weighting", name).Config().build(SIZES)


def weights(name: str, logits: list[float]) -> list[float]:
    row = torch.tensor(logits, dtype=torch.float64).view(1, 1, 1, -1)
    return build(name)(row).flatten().tolist()


def softmax(logits: list[float]) -> list[float]:
    top = max(logits)
    exponentials = [math.exp(a - top) for a in logits]
    return [e / sum(exponentials) for e in exponentials]


def uniform(logits: list[float]) -> list[float]:
    count = sum(a > -math.inf for a in logits)
    return [1 / count if a > -math.inf else 0.0 for a in logits]


def hard(logits: list[float]) -> list[float]:
    best = logits.index(max(logits))
    return [float(j == best) for j in range(len(logits))]


BY_HAND = {"softmax": softmax, "uniform": uniform, "hard": hard}
ROWS = st.lists(
    st.integers(-3, 3).map(float) | st.floats(-50, 50) | st.just(-math.inf), min_size=1, max_size=8
)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=40)
@given(row=ROWS.filter(lambda row: max(row) > -math.inf))
def test_weights_follow_their_definition(name, row):
    found = weights(name, row)
    assert found == pytest.approx(BY_HAND[name](row), abs=1e-12)
    assert sum(found) == pytest.approx(1)
    assert all(weight == 0 for weight, a in zip(found, row, strict=True) if a == -math.inf)


def test_hard_takes_the_first_of_ties_and_only_one():
    assert weights("hard", [1.0, 2.0, 2.0, 2.0]) == [0, 1, 0, 0]
    assert weights("hard", [0.0] * 4) == [1, 0, 0, 0]
    assert weights("hard", [-math.inf, -5.0, -5.0]) == weights("hard", [0.0, 1e-30, 1e-300]) == [0, 1, 0]


def test_which_weightings_say_what_of_themselves():
    parts = {name: CATALOGUE.get("weighting", name) for name in NAMES}
    said = {n: (parts[n].fused, parts[n].reads_scores, parts[n].surrogate_gradient) for n in BY_HAND}
    plain, uniform, hard = (True, True, None), (False, False, None), (False, True, "softmax")
    assert said == {"softmax": plain, "uniform": uniform, "hard": hard}
