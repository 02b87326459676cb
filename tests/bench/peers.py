"""The trials of `plain_loop.py` with other tools, as one would write it with them: `python peers.py TOOL STEPS`.

Each imports its tool in its function, as the others may lack it.
"""

import json
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import torch
from plain_loop import train
from torch import nn

GRID = {"activation": ["ReLU", "GELU"], "seed": [*range(8)]}


def optimize(steps: int) -> None:
    import optuna
    from optuna.storages.journal import JournalFileBackend, JournalStorage

    def objective(trial: optuna.Trial) -> float:
        activation, seed = (trial.suggest_categorical(name, values) for name, values in GRID.items())
        curve, (loss, accuracy) = train(getattr(nn, activation)(), seed, steps)
        trial.set_user_attr("curve", curve)
        trial.set_user_attr("accuracy", accuracy)
        return loss

    torch.set_num_threads(1)
    storage, sampler = JournalStorage(JournalFileBackend("optuna.log")), optuna.samplers.GridSampler(GRID)
    study = optuna.create_study(study_name="study", storage=storage, sampler=sampler, load_if_exists=True)
    study.optimize(objective, n_trials=8)


def with_optuna(steps: int) -> None:
    import optuna  # noqa: F401 - here, so that the two processes share it

    with ProcessPoolExecutor(2) as pool:
        list(pool.map(optimize, [steps, steps]))


def with_mlflow(steps: int) -> None:
    import mlflow

    mlflow.set_tracking_uri("sqlite:///mlflow.db")
    mlflow.set_experiment("study")
    torch.set_num_threads(1)
    with mlflow.start_run():
        for activation in GRID["activation"]:
            for seed in GRID["seed"]:
                with mlflow.start_run(run_name=f"{activation}-{seed}", nested=True):
                    mlflow.log_params({"activation": activation, "seed": seed, "steps": steps})
                    curve, (loss, accuracy) = train(getattr(nn, activation)(), seed, steps)
                    for step, *values in curve:
                        names = ("train_loss", "grad_norm", "validation_loss", "validation_accuracy")
                        mlflow.log_metrics(dict(zip(names, values, strict=True)), step=step)
                    mlflow.log_metrics({"loss": loss, "accuracy": accuracy})


def job(config: Any) -> None:
    from hydra.core.hydra_config import HydraConfig

    torch.set_num_threads(1)
    curve, (loss, accuracy) = train(getattr(nn, config.activation)(), config.seed, config.steps)
    folder = Path(HydraConfig.get().runtime.output_dir)
    (folder / "result.json").write_text(json.dumps([loss, accuracy, curve]))


def with_hydra(steps: int) -> None:
    import hydra

    grid = f"+activation=ReLU,GELU +seed=range(8) +steps={steps}"
    sys.argv[1:] = ["--multirun", "hydra/launcher=joblib", "hydra.launcher.n_jobs=2", *grid.split()]
    hydra.main(version_base=None)(job)()


if __name__ == "__main__":
    {"optuna": with_optuna, "mlflow": with_mlflow, "hydra": with_hydra}[sys.argv[1]](int(sys.argv[2]))
