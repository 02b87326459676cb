"""What happened: records, the store, MLflow."""
