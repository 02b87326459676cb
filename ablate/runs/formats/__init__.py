"""Readers, one for each format of runs that exist, and what only they use."""
