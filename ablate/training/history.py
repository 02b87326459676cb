"""Measurements of a training run: numbers of every step, curves, the best evaluations, divergence."""

import math
from collections.abc import Collection, Mapping, Sequence

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from torch import Tensor, nn

from ablate.core.metric import Metric
from ablate.core.record import Curve

# A final training loss above this multiple of max(initial, chance) is divergence: the run ends clearly worse than it
# began, and than guessing.
RISE = 1.1


class History:
    """Training loss and gradient norm of every step; curves at evaluations. Steps count updates done.

    Its attributes are all that a run needs to continue (`Run.save`).
    """

    def __init__(self) -> None:
        self.losses: list[float] = []
        self._norms: list[float] = []
        self._evaluated = 0
        self._points: dict[str, list[tuple[int, float]]] = {}

    def add(self, loss: float, norm: float) -> bool:
        """Keeps one step's numbers; False when its loss is not finite."""
        self.losses.append(loss)
        self._norms.append(norm)
        return math.isfinite(loss)

    def evaluated(self, lr: float, validation: Mapping[str, float]) -> dict[str, float]:
        """Adds a point to every curve, of means since the last evaluation; returns the point."""
        point = {
            "train_loss": _mean(self.losses[self._evaluated :]),
            "grad_norm": _mean(self._norms[self._evaluated :]),
            "lr": lr,
            **{f"validation_{name}": value for name, value in validation.items()},
        }
        self._evaluated = len(self.losses)
        for name, value in point.items():
            self._points.setdefault(name, []).append((self._evaluated, value))
        return point

    @property
    def arrays(self) -> dict[str, NDArray[np.float32]]:
        """`train_loss` and `grad_norm` of every step that was made."""
        return {"train_loss": _array(self.losses), "grad_norm": _array(self._norms)}

    @property
    def curves(self) -> dict[str, Curve]:
        """All curves by name."""
        return {
            name: Curve(
                np.array([step for step, _ in points], dtype=np.int64),
                np.array([value for _, value in points], dtype=np.float64),
            )
            for name, points in self._points.items()
        }

    def summary(self) -> dict[str, float | None]:
        """`train_loss` over the last 5 % of the steps that were made; spikes, and the gradient's norms that are finite,
        over all.
        """
        norms = self.arrays["grad_norm"]
        norms = norms[np.isfinite(norms)]
        return {
            "train_loss": self.final_loss(),
            "loss_spikes": loss_spikes(self.losses),
            "grad_norm_median": float(np.median(norms)) if len(norms) else None,
            "grad_norm_max": float(np.max(norms)) if len(norms) else None,
        }

    def final_loss(self) -> float:
        """Mean training loss over the last 5 % of the steps that were made, rounded up to whole steps."""
        return _mean(self.losses[-math.ceil(len(self.losses) / 20) :])

    def risen(self, chance_loss: float) -> str:
        """Why a finished run counts as diverged although every loss is finite, or nothing."""
        initial, final = self.losses[0], self.final_loss()
        if final <= RISE * max(initial, chance_loss):
            return ""
        return (
            f"diverged: training loss {final:.4g} over the last 5 % of {len(self.losses)} steps; "
            f"it began at {initial:.4g}, chance is {chance_loss:.4g}"
        )


class Best:
    """For each metric the evaluation at which it was best on validation data, the first on ties.

    The weights are kept of those that are asked for; an evaluation that was best for several has one copy of them. The
    attributes are all that a run needs to continue (`Run.save`).
    """

    def __init__(self, metrics: Mapping[str, Metric], kept: Collection[str]) -> None:
        """`kept`: the metrics of which the best weights are kept."""
        self.steps: dict[str, int] = {}
        "Metric → its best step."
        self.weights: dict[int, dict[str, Tensor]] = {}
        "Step → weights, of the steps that are best for a metric of which they are kept."
        self._signs = {name: 1 if metric.direction == "max" else -1 for name, metric in metrics.items()}
        self._values = dict.fromkeys(metrics, -math.inf)
        self._kept = kept

    def offer(self, step: int, validation: Mapping[str, float], model: nn.Module) -> None:
        """Copies the weights when some metric of `validation` is better than all before."""
        values = {name: sign * validation[name] for name, sign in self._signs.items()}
        better = {name: value for name, value in values.items() if value > self._values[name]}
        self._values |= better
        self.steps |= dict.fromkeys(better, step)
        if better.keys() & self._kept:
            self.weights[step] = {
                name: tensor.detach().clone() for name, tensor in model.state_dict().items()
            }
            self.weights = {step: self.weights[step] for step in {self.steps[name] for name in self._kept}}


def _array(values: list[float]) -> NDArray[np.float32]:
    return np.array(values, dtype=np.float32)


def _mean(values: list[float]) -> float:
    return float(np.mean(_array(values), dtype=np.float64))


WINDOW = 100  # Steps before a step that say what is usual there.
DEVIATIONS = 7  # Standard deviations above their mean from which a loss is a spike.
_TOGETHER = 10_000  # Windows that are in memory at a time.


def loss_spikes(losses: Sequence[float]) -> float | None:
    """Share of the steps whose loss is a spike (Wortsman et al. 2023, appendix), of those with a window before them.

    A spike lies above the mean of the `WINDOW` losses before it, by `DEVIATIONS` of their standard deviations or more.
    A loss that is not finite ends a run and is none. None where no step has a window.
    """
    finite = np.asarray(losses, dtype=np.float64)
    finite = finite[np.isfinite(finite)]
    later = finite[WINDOW:]
    if not len(later):
        return None
    windows = sliding_window_view(finite[:-1], WINDOW)
    count = 0
    for start in range(0, len(later), _TOGETHER):
        part = slice(start, start + _TOGETHER)
        above = later[part] - windows[part].mean(1)
        count += np.sum((above > 0) & (above >= DEVIATIONS * windows[part].std(1, ddof=1)))
    return float(count / len(later))
