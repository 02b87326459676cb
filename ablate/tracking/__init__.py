"""MLflow, written from finished records."""

THREAD = "mlflow"
"""The name of the thread that writes: where a server does not answer, it is still there when a command ends."""
