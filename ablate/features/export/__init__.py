"""`ablate export`: tables, figures and the statistical methods for a paper; searches for Optuna's own tools."""
