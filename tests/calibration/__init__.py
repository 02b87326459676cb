"""The verdicts are themselves tested: how often they err, on made studies and on real trainings.

    python -m tests.calibration --results FOLDER           the whole of it (`make calibrate`)
    python -m tests.calibration --only coverage            one part

One file a part. A part is a function `part(rng, place) -> checks`: each check is a figure that was measured beside the
band in which it must lie. It draws from `rng` alone, and trains through `place.trained`. Wrong rules go through some
of the parts as well: bands that they pass would say nothing.
"""
