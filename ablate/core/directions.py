"""Usual directions of metrics by their names, to point out a declaration that is likely a slip."""

import re

from ablate.core.metric import Direction

# Words in the names of metrics of which less is better, and of which more is.
_LESS = {
    *("loss", "nll", "perplexity", "ppl", "error", "err", "mse", "rmse", "mae", "wer", "cer", "ter", "bpb"),
    *("bpc", "fid", "latency", "time", "seconds", "regret", "divergence"),
}
_MORE = {
    *("acc", "accuracy", "f1", "bleu", "rouge", "auc", "auroc", "precision", "recall", "reward", "return"),
    *("score", "iou", "map", "ndcg", "mrr", "r2", "throughput"),
}


def doubtful_direction(name: str, direction: Direction) -> str:
    """Returns why a metric of this name rarely has this direction; "" where the name tells nothing."""
    words = set(re.findall(r"[a-z]+\d?", re.sub(r"([a-z])([A-Z])", r"\1 \2", name).lower()))
    is_usually_less = not words.isdisjoint(_LESS)
    is_usually_more = not words.isdisjoint(_MORE)
    is_unusual = is_usually_less if direction == "max" else is_usually_more
    if is_usually_less == is_usually_more or not is_unusual:
        return ""
    better = "more" if direction == "max" else "less"
    return (
        f"{name} has `direction: {direction}`, so that {better} of it is better: if that is a slip, every verdict on "
        "it is the wrong way round"
    )
