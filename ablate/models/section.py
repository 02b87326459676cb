"""`model:` the baseline's architecture."""

from typing import Annotated, Any, Literal

from pydantic import Field, PositiveInt

from ablate.base.registry import OnOff, Slot, StrictModel

Rate = Annotated[float, Field(ge=0, lt=1)]


class Dropouts(StrictModel):
    """Probabilities of dropping, by placement."""

    embedding: Rate = 0.0
    "On the embedded input, positions included."
    attention_weights: Rate = 0.0
    "On the attention weights, after the softmax."
    attention_output: Rate = 0.0
    "On the output of the mixer, before the residual addition."
    feedforward_hidden: Rate = 0.0
    "After the activation inside the feed-forward."
    feedforward_output: Rate = 0.0
    "On the output of the feed-forward, before the residual addition."
    residual: Rate = 0.0
    "On the residual sum, after the addition."


class Embedding(StrictModel):
    """The way inputs become vectors: whether the embedding's weights are shared with the output layer or scaled, and
    whether vectors of segments are added.
    """

    tied: OnOff = False
    """Whether the output layer shares the weights of the token embedding (Press and Wolf 2017). Unless they are
    `scaled`, its input is then divided by √d_model, as in the code of Raffel et al. 2020."""
    scaled: OnOff = False
    """Whether the weights begin √d_model times smaller and are multiplied by √d_model (Vaswani et al. 2017, section
    3.4): embedded inputs begin as without it, and learn faster."""
    segment: OnOff = False
    "Whether a learned vector for the segment of each position is added (Devlin et al. 2019)."


class ModelSection(StrictModel):
    """A stack of blocks: mixer and feed-forward, each with norm, dropout and residual."""

    topology: Annotated[Any, Slot("topology")] = "encoder"
    "How positions see one another: `encoder` (all), `decoder` (causal), `encoder_decoder`."
    d_model: PositiveInt = 64
    "Width of the residual stream."
    num_layers: PositiveInt = 2
    "Number of blocks."
    mixer: Annotated[Any, Slot("mixer", default="attention")] = "attention"
    "The part that exchanges information between positions."
    embedding: Embedding = Embedding()
    "How inputs become vectors."
    position: Annotated[Any, Slot("position")] = "learned"
    "How the model learns the order of positions."
    norm: Annotated[Any, Slot("norm")] = "layer"
    "The normalisation of every sublayer."
    norm_placement: Literal["pre", "post", "sandwich"] = "pre"
    """pre: x + Sublayer(Norm(x)), with a final norm; post: Norm(x + Sublayer(x)); sandwich:
    x + Norm(Sublayer(Norm(x))), with a final norm."""
    residual: OnOff = True
    "Whether a sublayer's input is added to its output."
    feedforward: Annotated[Any, Slot("feedforward", default="mlp")] = "mlp"
    "The position-wise sublayer."
    dropout: Dropouts = Dropouts()
    "Rates by placement."
