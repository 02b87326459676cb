"""The built-in workload: one trial of a sequence model → one record."""
