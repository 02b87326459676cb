"""What the name of a metric says of its direction, to name a declaration that is likely a slip."""

import re

from ablate.core.metric import Direction

_LESS = {
    *(
        "loss",
        "nll",
        "perplexity",
        "ppl",
        "error",
        "err",
        "mse",
        "rmse",
        "mae",
        "wer",
        "cer",
        "ter",
        "bpb",
        "bpc",
    ),
    *("fid", "latency", "time", "seconds", "regret", "divergence"),
}
_MORE = {
    *(
        "acc",
        "accuracy",
        "f1",
        "bleu",
        "rouge",
        "auc",
        "auroc",
        "precision",
        "recall",
        "reward",
        "return",
        "score",
    ),
    *("iou", "map", "ndcg", "mrr", "r2", "throughput"),
}


def doubtful_direction(name: str, direction: Direction) -> str:
    """Returns why a metric of this name rarely has this direction; nothing where its name does not say."""
    words = set(re.findall(r"[a-z]+\d?", re.sub(r"([a-z])([A-Z])", r"\1 \2", name).lower()))
    usual = {("min" if words & _LESS else ""), ("max" if words & _MORE else "")} - {""}
    if len(usual) != 1 or direction in usual:
        return ""
    better = "more" if direction == "max" else "less"
    return (
        f"{name} has `direction: {direction}`, so that {better} of it is better: if that is a slip, all that is said "
        "of it is the wrong way round"
    )
