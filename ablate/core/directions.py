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
# Words for the opposite or a difference of a metric, whose direction is its own or the other one.
_REVERSING = {
    *("neg", "negative", "negated", "minus", "inv", "inverse", "inverted"),
    *("drop", "decrease", "decline", "reduction", "diff", "difference", "delta", "change"),
}
# Words for a lack or the spread of a metric: less of it may be better although more of the metric is.
_LACKING = {
    *("gap", "degradation", "deterioration", "forgetting", "lost", "deficit", "penalty", "uncertainty"),
    *("std", "stdev", "stddev", "sd", "se", "sem", "stderr", "ci", "var", "variance", "deviation", "spread"),
}
# Words for a gain: more of it may be better although less of the metric is.
_GAINING = {"improvement", "gain", "correction"}
_MINUS = re.compile(r"\s*[-−]|(?:.*(?:train|val|valid|validation|eval|dev|test)[_/. ])?\s*1\s*[-−]")
"""The beginning of a name such as `1-acc`, `val/1 - f1` or `-loss`."""
_UNTIL = re.compile(
    r"(?:steps?|epochs?|iters?|iterations?|updates?|episodes?|rounds?|samples|tokens)_(?:to|until)_"
)
"""What counts how long a run takes to reach a value: less of `steps_to_acc` is better."""
_SCORER = re.compile(
    r"(?:(?!std_|rank_)\w+_)?neg_(?:(?:mean|median|root|max)_(?:\w+_)?(?:error|deviance)|log_loss|brier_score)"
)
"""The scorers of scikit-learn that are the negative of a loss: more of each is better."""


_CHOSEN = re.compile(
    r"(best|max|min|peak|highest|lowest|top)_(?!at_|epoch|step|\d)\w+|\w+_(best|peak|highest|lowest)|best"
)
_EXTREME = re.compile(r"\w+_(max|min)")
"""A name that says which end of several values a number is: the best one where more, or less, of it is better."""
_AT_BEST = re.compile(r"\w+_(at|by|of)_best")


def doubtful_choice(name: str) -> str:
    """Returns why a metric of this name may be the best of a run; nothing where its name does not say."""
    joined = _joined(name)
    extreme = _EXTREME.fullmatch(joined)
    is_best_end = extreme is not None and extreme[1] == usual_direction(name)
    if not (_CHOSEN.fullmatch(joined) or is_best_end) or _AT_BEST.fullmatch(joined):
        return ""
    return (
        f"{name} seems to be the best value of each run: chosen by the number that is judged, it looks better than it "
        "is, most for what varies most. Judge the last value, or the value at the step where another metric is best"
    )


def usual_direction(name: str) -> Direction | None:
    """Returns the direction that a metric of this name usually has; None where the name tells nothing."""
    spelled = _spelled(name)
    joined = _joined(name)
    if _SCORER.fullmatch(joined):
        return "max"
    words = set(re.findall(r"[a-z]+\d?", spelled))
    is_usually_less = not words.isdisjoint(_LESS)
    is_usually_more = not words.isdisjoint(_MORE)
    if is_usually_less == is_usually_more:
        return None
    turning = _REVERSING | (_GAINING if is_usually_less else _LACKING)
    is_count_until = is_usually_more and _UNTIL.search(joined) is not None
    if words & turning or _MINUS.match(spelled) or is_count_until:
        return None
    return "min" if is_usually_less else "max"


def _spelled(name: str) -> str:
    """Returns a name in small letters with its words apart: `valAcc` is `val acc`."""
    return re.sub(r"([a-z])([A-Z])", r"\1 \2", name).lower()


def _joined(name: str) -> str:
    """Returns the words of a name with underscores: `valAcc` and `val/acc` are `val_acc`."""
    return re.sub(r"[^a-z0-9]+", "_", _spelled(name))


def doubtful_direction(name: str, direction: Direction) -> str:
    """Returns why a metric of this name rarely has this direction; "" where the name tells nothing."""
    if usual_direction(name) in (None, direction):
        return ""
    better = "more" if direction == "max" else "less"
    return (
        f"{name} has `direction: {direction}`, so that {better} of it is better: if that is a slip, every verdict on "
        "it is the wrong way round"
    )
