"""Declarations of metrics that are likely slips, by the names of the metrics."""

import re

from ablate.core.metric import Direction

# Words in the names of metrics of which less is better, and of which more is.
_LESS = {
    *("loss", "nll", "perplexity", "ppl", "error", "err", "mse", "rmse", "rmsle", "mae", "wer", "cer", "ter"),
    *("eer", "entropy", "xent", "bpb", "bpc", "fid", "latency", "time", "seconds", "regret", "divergence"),
}
_MORE = {
    *("acc", "accuracy", "f1", "bleu", "rouge", "auc", "auroc", "precision", "recall", "reward", "return"),
    *("score", "iou", "map", "ndcg", "mrr", "r2", "throughput"),
}


_CHOSEN = re.compile(
    r"(best|max|min|peak|highest|lowest|top)_(?!at_|epoch|step|\d)\w+|\w+_(best|peak|highest|lowest)|best"
)
_EXTREME = re.compile(r"\w+_(max|min)")
"""A name that says which end of several values a number is: the best one where more, or less, of it is better."""
_AT_BEST = re.compile(r"\w+_(at|by|of)_best")


def doubtful_choice(name: str) -> str:
    """Returns why a metric of this name may be the best of a run; nothing where its name does not say."""
    spelled = re.sub(r"[^a-z0-9]+", "_", re.sub(r"([a-z])([A-Z])", r"\1 \2", name).lower())
    extreme = _EXTREME.fullmatch(spelled)
    is_best_end = extreme is not None and extreme[1] == usual_direction(name)
    if not (_CHOSEN.fullmatch(spelled) or is_best_end) or _AT_BEST.fullmatch(spelled):
        return ""
    return (
        f"{name} seems to be the best value of each run: chosen by the number that is judged, it looks better than it "
        "is, most for what varies most. Judge the last value, or the value at the step where another metric is best"
    )


def usual_direction(name: str) -> Direction | None:
    """Returns the direction that a metric of this name usually has; None where the name tells nothing."""
    words = set(re.findall(r"[a-z]+\d?", re.sub(r"([a-z])([A-Z])", r"\1 \2", name).lower()))
    is_usually_less = not words.isdisjoint(_LESS)
    is_usually_more = not words.isdisjoint(_MORE)
    if is_usually_less == is_usually_more:
        return None
    return "min" if is_usually_less else "max"


def doubtful_direction(name: str, direction: Direction) -> str:
    """Returns why a metric of this name rarely has this direction; "" where the name tells nothing."""
    if usual_direction(name) in (None, direction):
        return ""
    better = "more" if direction == "max" else "less"
    return (
        f"{name} has `direction: {direction}`, so that {better} of it is better: if that is a slip, every verdict on "
        "it is the wrong way round"
    )
