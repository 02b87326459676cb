"""`search:` with `ablate sweep`, and `tune:`: searches with Optuna, on equal budgets, for what is then judged."""
