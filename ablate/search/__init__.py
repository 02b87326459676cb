"""Samplers and pruners of searches, which are parts."""
