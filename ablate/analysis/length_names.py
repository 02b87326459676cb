"""Names that say how long a run trains, and on how many examples a step: of settings, and of numbers of a run."""

import re


def _words(text: str) -> frozenset[str]:
    """Returns the words in a text."""
    return frozenset(re.findall(r"[a-z0-9]+", text.lower()))


_COUNTED = _words(
    "step steps timestep timesteps epoch epochs iteration iterations iter iters updates episodes batches passes"
)
"""Words for what training is counted in."""
_DATA = _words("tokens samples examples images frames sequences")
_SEEN = _words("seen consumed processed trained train training")
"""Words for data, and what says that training is counted in it: `num_examples` may be of an evaluation."""
_DATA_ALONE = _words("tokens frames")
"""Words for data that alone count training."""
_QUALIFIERS = _words(
    "max num n total train training trained trainer completed done final last current reached seen run env global "
    "agent opt optimizer gradient sampled of number seen consumed processed"
)
"""Words that may stand beside them; any other says that something else is counted: `warmup_steps`, `best_epoch`."""
_SIZES_ALONE = _words("step timestep epoch iteration iter tokens frames")
"""Words that alone set something else, such as the size of a step or the frames of a clip."""


def counts_training(name: str) -> bool:
    """Returns whether the last part of a name counts the training of a run: `epochs_trained`, `train_samples`."""
    words = _words(_last(name))
    is_of_data = bool(words & _DATA) and (bool(words & _SEEN) or words <= _DATA_ALONE)
    return (is_of_data or bool(words & _COUNTED)) and words <= _COUNTED | _DATA | _QUALIFIERS


def sets_length(path: str) -> bool:
    """Returns whether the last name of a path sets a length of training: `steps`, and not `step` or `tokens` alone."""
    return counts_training(path) and not _words(_last(path)) <= _SIZES_ALONE


def sets_batch(path: str) -> bool:
    """Returns whether the last name of a path sets the examples of a step: `batch_size`."""
    return _words(_last(path)) == {"batch", "size"}


def _last(name: str) -> str:
    """Returns the last part of a name: `steps` of `config/steps`."""
    return re.split(r"[./]", name)[-1]
