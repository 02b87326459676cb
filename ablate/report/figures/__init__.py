"""The figures of reports, a file each: a function from a tidy frame, a row an observation, to a figure.

Seaborn draws in the theme of `theme`; matplotlib itself draws what seaborn has no kind of plot for, such as intervals
that were computed before. Both are imported by the functions that draw, so that verdicts do not wait for them.
"""
