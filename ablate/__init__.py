"""Paired ablation studies of sequence models: `ablate.run("study.yaml")`, `ablate.load("results/x")`."""

from ablate.run import Options, Results, load, run

__all__ = ["Options", "Results", "load", "run"]
