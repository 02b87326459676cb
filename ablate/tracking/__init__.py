"""MLflow, brought up to date from finished records."""
