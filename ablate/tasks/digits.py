"""Handwritten digits: the 1,797 images of 8 × 8 pixels that come with scikit-learn, read as sequences.

E. Alpaydin and C. Kaynak, Optical Recognition of Handwritten Digits, UCI Machine Learning Repository, 1998
(its test part).
"""

import functools
import importlib.util
from pathlib import Path
from typing import Literal, assert_never

import numpy as np
from numpy.typing import NDArray
from pydantic import PositiveInt

from ablate.base.errors import NOT_GIVEN, AblateError, Gather
from ablate.base.registry import PartConfig, register
from ablate.base.streams import numpy_stream
from ablate.core.metric import Sampling
from ablate.core.signature import Signature
from ablate.tasks.files import Parts
from ablate.tasks.pool import Pool
from ablate.tasks.task import Batch, Classification

NUM_EXAMPLES = 1797
NUM_CLASSES = 10
SIDE = 8
MAX_VALUE = 16


@register("task", "digits")
class Digits(Pool, Classification):
    """Images of handwritten digits, each with its digit as the label: a real task of little data.

    Pixel values are scaled to [0, 1]. The task counts as solved at the accuracy of the nearest neighbour among as many
    training images, about 0.98.

    The splits are disjoint and stratified: the count of each digit in a split is within 1 or 2 of its share. The test
    images are the same for every seed, and no seed trains on them or chooses by them: seeds that draw train and test
    from so few images are not independent. So a verdict is about these test images.
    """

    class Config(PartConfig):
        representation: Literal["rows", "pixels", "patches"] = "rows"
        "Content of a position: a row (T = 8, F = 8), a pixel (T = 64, F = 1) or a square patch."
        patch_size: Literal[2, 4] | None = None
        "Side of a patch, for `patches`: 2 (T = 16, F = 4) or 4 (T = 4, F = 16); both go row by row."
        split: Literal["held_out", "per_seed", "fixed"] = "held_out"
        """held_out: one test set, the rest split anew for every seed; per_seed: every seed has its own three splits;
        fixed: all seeds have the same."""
        train_size: PositiveInt = 1197
        "Number of training examples; a smaller set is the beginning of a larger one, and other splits do not change."
        validation_size: PositiveInt = 300
        "Number of examples that choose the best step."
        test_size: PositiveInt = 300
        "Number of test examples."

    config: Config
    outcome = "graded"
    recommended = {
        "task": {"train_size": 1197},
        "model": {"d_model": 64, "num_layers": 2, "norm": "batch"},
        "training": {"steps": 1000, "batch_size": 32, "lr": 0.003, "schedule": "cosine", "warmup_steps": 20},
    }
    support = NUM_EXAMPLES

    def __init__(self, config: Config) -> None:
        self.config = config
        self._check_sizes()
        height, width = self._cell()
        self.signature = Signature(
            seq_len=SIDE * SIDE // (height * width),
            num_outputs=NUM_CLASSES,
            num_features=height * width,
            readout="mean",
        )
        self.sampling = Sampling(
            "resplit" if config.split == "per_seed" else "held_out",
            test=config.test_size,
            train=config.train_size,
            validation=config.validation_size,
        )
        self.set_metrics(num_classes=NUM_CLASSES, num_test=config.test_size, solved=0.98)

    def coverage(self, draws: int) -> float:
        """Returns 0: no test example is a training example, since the splits are disjoint."""
        return 0.0

    def indices(self, seed: int) -> Parts:
        """Returns the rows of the data set in `train`, `validation` and `test`, disjoint and stratified by digit.

        With `split: per_seed` all three depend on the seed, with `held_out` the first two, with `fixed` none.
        """
        config = self.config
        _, labels = load_digits()
        if config.split == "per_seed":
            test_generator = numpy_stream(seed, "data", "test")
        else:
            test_generator = numpy_stream(0, "data", "held out")
        rest_generator = numpy_stream(0 if config.split == "fixed" else seed, "data", "split")
        test, rest = np.split(_stratified_order(labels, test_generator), [config.test_size])
        rest = rest[_stratified_order(labels[rest], rest_generator)]
        validation, train, _ = np.split(rest, np.cumsum([config.validation_size, config.train_size]))
        return {"train": train, "validation": validation, "test": test}

    def examples(self, rows: NDArray[np.intp], device: str) -> Batch:
        """Returns some rows as a batch on `device`: pixels (B, T, F), scaled to 0 … 1, and digits (B)."""
        images, digits = load_digits()
        height, width = self._cell()
        cells = images[rows].reshape(len(rows), SIDE // height, height, SIDE // width, width)
        features = cells.transpose(0, 1, 3, 2, 4).reshape(len(rows), -1, height * width)
        return Batch.of((features / MAX_VALUE).astype(np.float32), digits[rows]).to(device)

    def _check_sizes(self) -> None:
        """Raises `Invalid` where patches lack a `patch_size`, where another representation has one, and where
        `train_size` leaves too few images for the other splits.
        """
        config = self.config
        has_patches = config.representation == "patches"
        room = NUM_EXAMPLES - config.validation_size - config.test_size
        with Gather() as at:
            at.refuse(
                has_patches == (config.patch_size is None),
                "patch_size",
                f"{'must' if has_patches else 'cannot'} be given with representation = {config.representation}",
                given=config.patch_size or NOT_GIVEN,
                allowed="2, 4" if has_patches else "nothing",
            )
            at.refuse(
                config.train_size > room,
                "train_size",
                f"must leave validation_size = {config.validation_size} and test_size = "
                f"{config.test_size} of {NUM_EXAMPLES} examples",
                given=config.train_size,
                allowed=f"at most {max(room, 0)}",
            )

    def _cell(self) -> tuple[int, int]:
        """Returns the height and the width, in pixels, of the part of an image that one position holds."""
        match self.config.representation:
            case "rows":
                return 1, SIDE
            case "pixels":
                return 1, 1
            case "patches":
                side = self.config.patch_size
                assert side is not None  # `_check_sizes` refuses patches without a size.
                return side, side
            case never:
                assert_never(never)


@functools.cache
def load_digits() -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Returns the images (1797, 8, 8), integers 0 … 16, and their digits (1797), read once from scikit-learn's file.
    Raises `AblateError` where it is missing.

    The file is read without importing `sklearn.datasets`, which takes longer than training on it.
    """
    spec = importlib.util.find_spec("sklearn")
    folder = Path(spec.submodule_search_locations[0]) if spec and spec.submodule_search_locations else Path()
    path = folder / "datasets" / "data" / "digits.csv.gz"
    if not path.is_file():
        raise AblateError(f"{path}: the digits data set is missing; install scikit-learn again")
    rows = np.loadtxt(path, delimiter=",").astype(np.int64)
    return rows[:, :-1].reshape(-1, SIDE, SIDE), rows[:, -1]


def _stratified_order(labels: NDArray[np.int64], generator: np.random.Generator) -> NDArray[np.intp]:
    """Returns a random permutation (N) of the examples, in every stretch of which each class of `labels` (N) has about
    its share of all examples.

    The members of a class are shuffled and spread evenly over [0, 1), from a random offset; the order is the order of
    their places.
    """
    places = np.empty(len(labels))
    for label in np.unique(labels):
        members = np.flatnonzero(labels == label)
        places[members] = (generator.permutation(len(members)) + generator.random()) / len(members)
    return np.argsort(places, kind="stable")
