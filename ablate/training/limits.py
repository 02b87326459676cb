"""The sizes that a trial may have: told by arithmetic, before anything of that size is made.

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

_WIDTH, _LAYERS, _LENGTH, _EXAMPLES = 65_536, 256, 16_384, 1_000_000
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
    """Raises `Invalid`, with paths from the root of a resolved config, for every field beyond its limit."""
    with Gather() as at:
        _check(at, config, "")
        training = config.get("training", {})
        steps, every = training.get("steps", 1), training.get("eval_every", 1)
        rule = f"evaluates {steps // every:,} times in {steps:,} steps; at most {MAX_EVALUATIONS:,} times is allowed"
        least = f"at least {-(-steps // MAX_EVALUATIONS)}"
        at.refuse(steps // every > MAX_EVALUATIONS, "training.eval_every", rule, every, least)


def _check(at: Gather, node: Any, path: str) -> None:
    if isinstance(node, Mapping):
        for key, value in node.items():
            below, limit = f"{path}.{key}" if path else key, LIMITS.get(key)
            if limit is not None and isinstance(value, (int, float)):
                at.refuse(value > limit, below, "is too large", value, f"at most {limit:,}")
            _check(at, value, below)


def _heads_with_weights(module: nn.Module) -> int:
    """The heads of a module that makes attention weights, which the fused kernel does not."""
    if not isinstance(module, Attention):
        return 0
    unfused = module.score is None or type(module.score).inner is Score.inner or module.weights_dropout.active
    return module.num_heads if unfused or not module.weighting.fused else 0


def check_memory(trial: TrialConfig, signature: Signature, model: nn.Module) -> None:
    """Raises `Invalid` where a model, which may be on the meta device, is too large to train here.

    What a step needs is told from below: weights and their gradients, the output of every block, the weights of
    attention where they are made, and the logits.
    """
    weights = sum(tensor.numel() for tensor in (*model.parameters(), *model.buffers()))
    rows, length = trial.training.batch_size, signature.seq_len
    outputs = signature.num_outputs * (length if signature.readout == "all" else 1)
    activations = rows * (length * trial.model.d_model * trial.model.num_layers + outputs)
    activations += rows * length**2 * sum(map(_heads_with_weights, model.modules()))
    here = memory_allowed()
    # A model is made, and checked, in the memory of the processor, wherever it is trained.
    moments = 2 if trial.training.optimizer.name == "adamw" else 0
    held, step = (2 + moments) * _FLOAT * weights, _FLOAT * activations
    on_cpu = resolve_device(trial.training.device) == "cpu"
    allowed = f"the {size(here)} that this process may use"
    with Gather() as at:
        if weights > MAX_PARAMETERS:
            at.refuse(True, "model", "has too many parameters", weights, f"at most {MAX_PARAMETERS:,}")
        else:
            rule = (
                f"needs {size(held)} of memory and more for its weights, their gradients and their optimizer"
            )
            at.refuse(held > here, "model", rule, allowed=allowed)
        rule, hint = (
            f"needs {size(step)} of memory and more for a step",
            "Make batch, length or model smaller",
        )
        at.refuse(on_cpu and step > here, "training.batch_size", rule, rows, allowed, hint)
