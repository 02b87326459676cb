"""Records → comparisons → verdicts. Imports no torch."""
