"""Holds the package to its numbers, verdicts and behaviour: `python -m tests.freeze --record` records them anew.

The tests compare each recording with what the package does now. What changes on purpose is recorded again by the
commit that means it, so that its diff shows what changed. `recorded/` holds lines, sorted where their order means
nothing; numbers have 12 significant digits and may differ by rounding, but those in hexadecimal are compared bit by
bit. `refused/` holds studies and calls that are refused, each beside the refusals, one file a section of a study.
"""
