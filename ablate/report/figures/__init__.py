"""The figures of reports, a file each: a function from a tidy frame, a row an observation, to a figure.

Seaborn draws in the theme of `theme`; matplotlib itself draws what was computed before, such as means and
intervals. Both are imported by the functions that draw, so that verdicts do not wait for them.
"""
