"""Reversal: the source backwards, then an end token.

A copying task (Graves et al. 2014, "Neural Turing Machines") in which every position of the target answers
another position of the source for each length.
"""

from ablate.base.registry import register
from ablate.tasks.rearranging import Rearranging
from ablate.tasks.task import Integers, Slices
from ablate.tasks.transduction import backwards


@register("task", "reverse")
class Reverse(Rearranging):
    """A source of random length and symbols, which the model writes backwards.

    The task is harder with more symbols and with longer sources. There is no plateau, a run learns one position after
    another (an encoder–decoder on up to eight symbols: 0.42, 0.65, 0.80, 0.85, 0.90, 0.95 every 50 steps). It has no
    slices; `copy` has longer sources.

    One source of one symbol may weigh a tenth of the test examples, since there are so few: where differences of that
    size matter, set min_len to 3.

    Chance of the accuracy: one of the shortest sources, the likeliest; of the token accuracy: one token at each place.
    Ceiling: 1. Solved: 0.95. Recommended: the defaults, two layers of causal attention, d_model 32: 250 steps (0.99 or
    more by step 200 on each of three seeds, 3 s on one core).
    """

    recommended = {
        "task": {},
        "model": {"topology": "decoder", "d_model": 32, "num_layers": 2},
        "training": {"steps": 250, "batch_size": 64, "lr": 0.003},
    }

    def rearranged(self, symbols: Integers, lengths: Integers) -> Integers:
        """Returns the first L symbols of each source, L from `lengths` (B, 1), in reverse order: (B, max_len);
        the rest means nothing.
        """
        return backwards(symbols, lengths)

    def slices(self) -> Slices:
        """Returns no evaluation slices: `copy` is the task that tests on longer sources."""
        return {}
