"""The names under which evidence holds runs of the baseline that were trained twice under one seed."""

REPEATS = "repeats"
"""The frame of the second runs, with the columns of `Evidence.trials`; also the role of their cells."""
NUM_REPEATED = 3
"""The number of seeds, the first, under which the baseline runs twice."""
