"""`model:` the baseline's architecture."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, PositiveInt

from ablate.registry import OnOff, Section, Slot

Rate = Annotated[float, Field(ge=0, lt=1)]


class Dropouts(Section):
    """Probabilities of dropping, by placement."""

    embedding: Rate = 0.0
    "On the embedded input, positions included."
    attention_weights: Rate = 0.0
    "On the attention weights, after the softmax."
    attention_output: Rate = 0.0
    "On what the mixer returns, before the residual addition."
    feedforward_hidden: Rate = 0.0
    "After the activation inside the feed-forward."
    feedforward_output: Rate = 0.0
    "On what the feed-forward returns, before the residual addition."
    residual: Rate = 0.0
    "On the residual sum, after the addition."


class ModelSection(Section):
    """A stack of blocks: mixer and feed-forward, each with norm, dropout and residual."""

    topology: Annotated[Any, Slot("topology")] = "encoder"
    "How positions see one another: `encoder` (all) or `decoder` (causal)."
    d_model: PositiveInt = 64
    "Width of the residual stream."
    num_layers: PositiveInt = 2
    "Number of blocks."
    mixer: Annotated[Any, Slot("mixer", default="attention")] = "attention"
    "What mixes positions."
    position: Annotated[Any, Slot("position")] = "learned"
    "How order enters."
    norm: Annotated[Any, Slot("norm")] = "layer"
    "The normalisation of every sublayer."
    norm_placement: Literal["pre", "post"] = "pre"
    "pre: x + Sublayer(Norm(x)), with a final norm; post: Norm(x + Sublayer(x))."
    residual: OnOff = True
    "Whether a sublayer's input is added to its output."
    feedforward: Annotated[Any, Slot("feedforward", default="mlp")] = "mlp"
    "The position-wise sublayer."
    dropout: Dropouts = Dropouts()
    "Rates by placement."
