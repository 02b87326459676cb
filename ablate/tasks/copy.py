"""Copying: the source again, then an end token (Graves et al. 2014, "Neural Turing Machines")."""

from ablate.base.registry import register
from ablate.tasks.rearranging import Rearranging


@register("task", "copy")
class Copy(Rearranging):
    """A source of random length and symbols, which the model writes again.

    All sources have one length where min_len = max_len. The task is harder with more symbols and, for a model that
    keeps a state, with longer sources. There is no plateau: a recurrent state loses the later symbols (twelve of them,
    600 steps, an LSTM of the same width: 0.08 of sequences, 0.85 of tokens).

    One source of one symbol may weigh a tenth of the test examples, since there are so few: where differences of that
    size matter, set min_len to 3.

    Chance of the accuracy: one of the shortest sources, the likeliest; of the token accuracy: one token at each place.
    Ceiling: 1. Solved: 0.95. Recommended: the defaults, two layers of causal attention, d_model 32: 300 steps (0.99 or
    more on each of three seeds, 4 s on one core; of fixed length 12 by step 100).
    """

    recommended = {
        "task": {},
        "model": {"topology": "decoder", "d_model": 32, "num_layers": 2},
        "training": {"steps": 300, "batch_size": 64, "lr": 0.003},
    }
