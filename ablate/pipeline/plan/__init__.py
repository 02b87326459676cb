"""The plan of a study, for `ablate plan`."""
