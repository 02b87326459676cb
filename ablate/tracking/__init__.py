"""MLflow, written from finished records."""
