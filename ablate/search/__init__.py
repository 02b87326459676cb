"""Searches with Optuna: sweeps, and tuning with equal budgets."""
