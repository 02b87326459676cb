"""Limits on the sizes of a trial, checked by arithmetic before anything of that size is made.

They are far beyond what a study trains, and keep a slip of the hand from taking all memory or not ending.
"""

from collections.abc import Mapping
from typing import Any

from torch import nn

from ablate.base.errors import Gather
from ablate.base.process import memory_allowed
from ablate.base.wording import size
from ablate.components.scores import Score
from ablate.core.signature import Signature
from ablate.models.attention import Attention
from ablate.training.trial import TrialConfig, resolve_device

_WIDTH = 65_536
_LAYERS = 256
_LENGTH = 16_384
_EXAMPLES = 1_000_000
# The largest value of a field, by its name, wherever it is in a config: in a user's own part or task too.
LIMITS: Mapping[str, int] = {
    **dict.fromkeys(("d_model", "d_k", "d_q", "d_v", "hidden", "rank", "kernel_size", "expansion"), _WIDTH),
    **dict.fromkeys(("num_heads", "num_kv_heads"), 1_024),
    **dict.fromkeys(("num_layers", "num_encoder_layers"), _LAYERS),
    **dict.fromkeys(("seq_len", "max_distance"), _LENGTH),
    # Counting the sequences of every length, and drawing pairs, take the square of these.
    **dict.fromkeys(("num_pairs", "num_tokens"), 256),
    **dict.fromkeys(("min_len", "max_len"), 2_048),
    **dict.fromkeys(
        ("vocab_size", "num_facts", "train_size", "validation_size", "test_size", "validation"), _EXAMPLES
    ),
    **dict.fromkeys(("steps", "warmup_steps", "eval_every"), 10_000_000),
    "batch_size": 100_000,
}
MAX_EVALUATIONS = 100_000  # During one training.
MAX_PARAMETERS = 1_000_000_000
_FLOAT = 4  # Bytes of a number.


def check_limits(config: Mapping[str, Any]) -> None:
    """Raises `Invalid`, with paths from the root, for all numbers of a config beyond the entry of `LIMITS` for their
    key, and for more than `MAX_EVALUATIONS` evaluations in a training.
    """
    with Gather() as at:
        _check_fields(at, config, "")
        training = config.get("training", {})
        steps = training.get("steps", 1)
        every = training.get("eval_every", 1)
        evaluations = steps // every
        rule = f"evaluates {evaluations:,} times in {steps:,} steps; at most {MAX_EVALUATIONS:,} times is allowed"
        # Rounded up, in whole numbers: steps may be beyond what a float holds.
        least = -(-steps // MAX_EVALUATIONS)
        is_too_often = evaluations > MAX_EVALUATIONS
        at.refuse(is_too_often, "training.eval_every", rule, every, f"at least {least}")


def _check_fields(at: Gather, node: Any, path: str) -> None:
    """Collects in `at` every number in `node`, or in a mapping nested in `node`, that is above the entry of `LIMITS`
    for its key; lists are not searched. path: the dotted path of `node`.
    """
    if not isinstance(node, Mapping):
        return
    for key, value in node.items():
        path_below = f"{path}.{key}" if path else key
        limit = LIMITS.get(key)
        if limit is not None and isinstance(value, (int, float)):
            at.refuse(value > limit, path_below, "is too large", value, f"at most {limit:,}")
        _check_fields(at, value, path_below)


def check_memory(trial: TrialConfig, signature: Signature, model: nn.Module) -> None:
    """Raises `Invalid` for a model of over 10⁹ parameters and buffers, for weights, gradients and optimizer beyond this
    process's memory, and on CPU for activations of one step beyond this memory. The model may be on the meta device.

    The memory that training needs is estimated from below.
    """
    weights = sum(tensor.numel() for tensor in (*model.parameters(), *model.buffers()))
    with Gather() as at:
        if weights > MAX_PARAMETERS:
            at.refuse(True, "model", "has too many parameters", weights, f"at most {MAX_PARAMETERS:,}")
        else:
            _check_weights(at, trial, weights)
        _check_step(at, trial, signature, model)


def _check_weights(at: Gather, trial: TrialConfig, weights: int) -> None:
    """Collects a problem in `at` where `weights` numbers, their gradients and, with AdamW, its two moments exceed this
    process's memory, on whatever device training runs. The state of any other optimizer is not counted.

    A model is made, and checked, in the memory of the processor.
    """
    moments = 2 if trial.training.optimizer.name == "adamw" else 0
    needed = (2 + moments) * _FLOAT * weights
    rule = f"needs {size(needed)} of memory and more for its weights, their gradients and their optimizer"
    memory = memory_allowed()
    at.refuse(needed > memory, "model", rule, allowed=_allowed(memory))


def _check_step(at: Gather, trial: TrialConfig, signature: Signature, model: nn.Module) -> None:
    """Collects a problem in `at` where training is on CPU and the activations of a step exceed this
    process's memory.
    """
    if resolve_device(trial.training.device) != "cpu":
        return
    needed = _FLOAT * _activations(trial, signature, model)
    rule = f"needs {size(needed)} of memory and more for a step"
    memory = memory_allowed()
    at.refuse(
        needed > memory,
        "training.batch_size",
        rule,
        given=trial.training.batch_size,
        allowed=_allowed(memory),
        hint="Make batch, length or model smaller",
    )


def _allowed(memory: int) -> str:
    """Returns the memory of this process, `memory` bytes, in words: `the 4 GB that this process may use`."""
    return f"the {size(memory)} that this process may use"


def _activations(trial: TrialConfig, signature: Signature, model: nn.Module) -> int:
    """Estimates how many numbers a training step keeps for its whole batch, with every sequence `seq_len` long: the
    outputs of `num_layers` blocks, the weights of attention that is not fused, and the logits.
    """
    length = signature.seq_len
    blocks = length * trial.model.d_model * trial.model.num_layers
    logits = signature.num_outputs * (length if signature.readout == "all" else 1)
    attention = length**2 * sum(_heads_with_weights(module) for module in model.modules())
    return trial.training.batch_size * (blocks + logits + attention)


def _heads_with_weights(module: nn.Module) -> int:
    """Returns how many heads of a module hold attention weights: all heads of an `Attention` that torch's fused
    kernel does not compute, 0 for any other module.
    """
    if not isinstance(module, Attention):
        return 0
    is_unfused = (
        module.score is None or type(module.score).inner is Score.inner or module.weights_dropout.active
    )
    return module.num_heads if is_unfused or not module.weighting.fused else 0
