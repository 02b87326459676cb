"""Measurements of a training run: numbers of every step, curves, the best evaluations, divergence."""

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from torch import Tensor, nn

from ablate.core.metric import Metric, sign
from ablate.core.record import Curve

# A final training loss above this multiple of max(initial, chance) is divergence: the run ends clearly worse than it
# began, and than guessing.
RISE = 1.1


class History:
    """The training loss and gradient norm of every step, and the curves of evaluations.

    A step is the number of updates made.
    """

    def __init__(self) -> None:
        self.losses: list[float] = []
        self._norms: list[float] = []
        self._evaluated = 0
        self._points: dict[str, list[tuple[int, float]]] = {}

    def add(self, loss: float, norm: float) -> bool:
        """Adds the loss and the gradient norm of one step; returns False where the loss is infinite or NaN, else
        True.
        """
        self.losses.append(loss)
        self._norms.append(norm)
        return math.isfinite(loss)

    def add_evaluation(self, lr: float, validation: Mapping[str, float]) -> dict[str, float]:
        """Adds a point to every curve and returns the values of all curves at this point, name → value: `lr`, the means
        of `train_loss` and `grad_norm` over the steps since the last evaluation, and `validation_METRIC` for each
        metric in `validation`.
        """
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
        """The arrays `train_loss` and `grad_norm`, float32, a number for each step made."""
        return {"train_loss": _array(self.losses), "grad_norm": _array(self._norms)}

    @property
    def curves(self) -> dict[str, Curve]:
        """The curves of evaluations, name → steps and values, a point for each evaluation."""
        curves = {}
        for name, points in self._points.items():
            steps = np.array([step for step, _ in points], dtype=np.int64)
            values = np.array([value for _, value in points], dtype=np.float64)
            curves[name] = Curve(steps, values)
        return curves

    def summary(self) -> dict[str, float | None]:
        """Returns metrics over the steps, name → value: `train_loss`, the mean over the last 5 %; `loss_spikes`, a
        share, None below 101 finite losses; `grad_norm_median` and `grad_norm_max` of the finite norms, None where no
        norm is finite.
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
        """Returns the mean training loss over the last 5 % of the steps made, rounded up to whole steps; NaN before the
        first step.
        """
        return _mean(self.losses[-math.ceil(len(self.losses) / 20) :])

    def risen(self, chance_loss: float) -> str:
        """Returns a text on why the run counts as diverged, where its final loss is above 1.1 · max(first loss,
        `chance_loss`); else an empty text. `chance_loss` is the loss of guessing.

        Every loss may be finite.
        """
        initial = self.losses[0]
        final = self.final_loss()
        if final <= RISE * max(initial, chance_loss):
            return ""
        return (
            f"training loss {final:.4g} over the last 5 % of {len(self.losses)} steps; "
            f"it began at {initial:.4g}, chance is {chance_loss:.4g}"
        )

    def state(self) -> dict[str, Any]:
        """Returns losses, norms and points, name → value, for `load`; the lists are the history's own, not copies."""
        return {
            "losses": self.losses,
            "norms": self._norms,
            "evaluated": self._evaluated,
            "points": self._points,
        }

    def load(self, state: Mapping[str, Any]) -> None:
        """Replaces losses, norms and points by those in `state`, a result of `History.state`; nothing is copied."""
        self.losses = state["losses"]
        self._norms = state["norms"]
        self._evaluated = state["evaluated"]
        self._points = state["points"]


class Best:
    """The best step of each metric on validation data, the first on ties, and the weights at the best steps of the
    metrics in `kept`.

    Steps that are best for several metrics have one copy of their weights.
    """

    def __init__(self, metrics: Mapping[str, Metric], kept: Collection[str]) -> None:
        """Begins without a best step; `kept`: the metrics whose best weights are copied."""
        self.steps: dict[str, int] = {}
        "Metric → its best step."
        self.weights: dict[int, dict[str, Tensor]] = {}
        "Step → weights, of the steps that are best for a metric of which they are kept."
        self._metrics = metrics
        # Metric → its best value so far, with the sign under which more is better.
        self._values = dict.fromkeys(metrics, -math.inf)
        self._kept = kept

    def offer(self, step: int, validation: Mapping[str, float], model: nn.Module) -> None:
        """Notes `step` as best for each metric whose value in `validation` is strictly better than before; NaN is never
        better. Where `kept` has one of these metrics, copies the model's weights, and drops copies that are no longer
        best.
        """
        values = {name: sign(metric) * validation[name] for name, metric in self._metrics.items()}
        better = {name: value for name, value in values.items() if value > self._values[name]}
        self._values |= better
        self.steps |= dict.fromkeys(better, step)
        if better.keys().isdisjoint(self._kept):
            return
        self.weights[step] = {name: tensor.detach().clone() for name, tensor in model.state_dict().items()}
        # A metric that was never a number has no best step.
        best_steps = {self.steps[name] for name in self._kept if name in self.steps}
        self.weights = {best_step: self.weights[best_step] for best_step in best_steps}

    def state(self) -> dict[str, Any]:
        """Returns best steps, values and weights, name → value, for `load`; nothing is copied."""
        return {"steps": self.steps, "weights": self.weights, "values": self._values}

    def load(self, state: Mapping[str, Any]) -> None:
        """Replaces best steps, values and weights by those in `state`, a result of `Best.state`; nothing is copied."""
        self.steps = state["steps"]
        self.weights = state["weights"]
        self._values = state["values"]


def _array(values: list[float]) -> NDArray[np.float32]:
    """Returns values as a float32 array, (N)."""
    return np.array(values, dtype=np.float32)


def _mean(values: list[float]) -> float:
    """Returns the mean, summed in float64, of values first rounded to float32; NaN for an empty list."""
    return float(np.mean(_array(values), dtype=np.float64))


WINDOW = 100  # Steps before a step that say what is usual there.
DEVIATIONS = 7  # Standard deviations above their mean from which a loss is a spike.
_TOGETHER = 10_000  # Windows that are in memory at a time.


def loss_spikes(losses: Sequence[float]) -> float | None:
    """Returns the share of spikes among the finite losses that have at least 100 finite losses before them; None where
    no loss has. A spike lies above the mean of the 100 finite losses before it by at least 7 of their standard
    deviations.

    The definition is that of Wortsman et al. 2023, appendix; `WINDOW` and `DEVIATIONS` are the numbers. Losses that
    are not finite are left out: the first ends a run.
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
        deviations = windows[part].std(1, ddof=1)
        count += np.sum((above > 0) & (above >= DEVIATIONS * deviations))
    return float(count / len(later))
