"""What the package does today, recorded: `python -m tests.freeze --record` writes `recorded/` anew.

The tests compare each file of it with what the package does now. What changes on purpose is recorded again by the
commit that means it, so that its diff shows what changed. Recordings are lines, sorted where their order means nothing;
numbers have 12 significant digits and may differ by rounding, but those in hexadecimal, which are compared bit by bit.
"""
