"""Records `mlruns` beside this file, as the installed MLflow writes it: `python record.py`.

Two experiments: `sweep`, two optimizers on three seeds with a metric at each of three steps and one at the end; and
`empty`, without runs.
"""

import os
import random
from pathlib import Path

os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"

from mlflow.tracking import MlflowClient

HERE = Path(__file__).parent


def record(uri: str) -> None:
    client = MlflowClient(uri)
    rng = random.Random(7)
    client.create_experiment("empty", artifact_location="s3://bucket/empty")
    sweep = client.create_experiment("sweep", artifact_location="s3://bucket/sweep")
    for optimizer, gain in (("adamw", 0.0), ("lion", 0.4)):
        for seed in range(3):
            tags = {"mlflow.runName": f"{optimizer}-{seed}"}
            run = client.create_run(sweep, start_time=1_700_000_000_000 + seed, tags=tags).info.run_id
            client.log_param(run, "optimizer", optimizer)
            client.log_param(run, "seed", seed)
            client.log_param(run, "lr", 0.001)
            for step, loss in enumerate((3.0, 2.0, 2.2)):
                client.log_metric(
                    run, "val_loss", loss - gain + 0.02 * rng.random(), 1_700_000_001_000 + step, step
                )
            client.log_metric(run, "test_acc", 0.8 + gain / 10 + 0.002 * rng.random(), 1_700_000_002_000)
            client.set_terminated(run, "FINISHED", 1_700_000_003_000)


if __name__ == "__main__":
    record((HERE / "mlruns").as_uri())
