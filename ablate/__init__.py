"""Paired ablation studies of sequence models: `ablate.stages.run("study.yaml")`, `ablate.load("results/x")`."""

from ablate.stages.run import Options, Results, load, run

__all__ = ["Options", "Results", "load", "run"]
