"""Records small folders of runs with the tools themselves: `python make.py TOOL FOLDER`; no test runs this.

Each tool trains two variants on a few seeds. What the runs weigh and what names the machine is removed.
"""

import importlib.util
import json
import os
import random
import re
import runpy
import shutil
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

SEEDS = range(3)
EFFECT = {"0.1": 0.0, "0.3": 0.02}
"""Learning rate → what it adds to the accuracy."""


def accuracy(lr, seed, epoch, epochs=3):
    """The accuracy after an epoch, which depends on the learning rate and, by chance, on the seed."""
    noise = random.Random(seed).gauss(0, 0.01) + random.Random(f"{lr}{seed}").gauss(0, 0.003)
    return 0.8 + EFFECT[str(lr)] + noise - 0.05 * (epochs - epoch)


HYDRA = """
import json, logging, sys
sys.path.insert(0, {here!r})
import hydra
from make import accuracy

log = logging.getLogger(__name__)

@hydra.main(version_base="1.3", config_path=".", config_name="config")
def main(config):
    for epoch in range(1, 4):
        value = accuracy(config.optimizer.lr, config.seed, epoch)
        log.info(f"epoch {{epoch}}: accuracy = {{value:.2%}}")
    with open("metrics.json", "w") as file:
        json.dump({{"accuracy": value, "epoch": epoch}}, file)

main()
"""


def hydra(folder):
    source = folder / "source"
    source.mkdir()
    (source / "config.yaml").write_text(
        "seed: 0\noptimizer: {name: adam, lr: 0.1}\nhydra: {job: {chdir: true}}\n"
    )
    (source / "train.py").write_text(HYDRA.format(here=str(Path(__file__).parent)))
    sweep = f"hydra.sweep.dir={folder / 'multirun'}"
    words = ["--multirun", "optimizer.lr=0.1,0.3", "seed=0,1,2", sweep]
    subprocess.run([sys.executable, "train.py", *words], cwd=source, check=True)
    shutil.rmtree(source)


def lightning(folder):
    import lightning
    import torch
    from lightning.pytorch.loggers import CSVLogger, TensorBoardLogger

    class Model(lightning.LightningModule):
        def __init__(self, lr, seed):
            super().__init__()
            self.save_hyperparameters()
            self.layer = torch.nn.Linear(2, 1)

        def training_step(self, batch, index):
            loss = self.layer(batch).square().mean()
            self.log("train_loss", loss, on_step=True, on_epoch=False)
            return loss

        def validation_step(self, batch, index):
            self.log("val_acc", accuracy(self.hparams.lr, self.hparams.seed, self.current_epoch + 1))

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=self.hparams.lr)

    for lr in (0.1, 0.3):
        for seed in SEEDS:
            lightning.seed_everything(seed)
            data = torch.utils.data.DataLoader(torch.randn(8, 2), batch_size=2)
            loggers = [CSVLogger(folder, "lightning_logs"), TensorBoardLogger(folder, "tb_logs")]
            trainer = lightning.Trainer(
                max_epochs=3, accelerator="cpu", logger=loggers, log_every_n_steps=2,
                enable_checkpointing=False, enable_progress_bar=False, num_sanity_val_steps=0,
            )  # fmt: skip
            trainer.fit(Model(lr, seed), data, data)


def transformers(folder):
    import torch
    from transformers import PretrainedConfig, PreTrainedModel, Trainer, TrainingArguments

    class Config(PretrainedConfig):
        model_type = "tiny"

    class Model(PreTrainedModel):
        config_class = Config

        def __init__(self, config):
            super().__init__(config)
            self.layer = torch.nn.Linear(2, 2)
            self.post_init()

        def forward(self, x, labels):
            logits = self.layer(x)
            return {"loss": torch.nn.functional.cross_entropy(logits, labels), "logits": logits}

    for lr in (0.1, 0.3):
        for seed in SEEDS:
            rows = [{"x": torch.randn(2), "labels": i % 2} for i in range(16)]
            output = folder / f"lr{lr}_seed{seed}"
            arguments = TrainingArguments(
                output, learning_rate=lr, seed=seed, num_train_epochs=3, per_device_train_batch_size=4,
                eval_strategy="epoch", save_strategy="epoch", save_total_limit=1, logging_steps=3,
                report_to=[], use_cpu=True, disable_tqdm=True,
            )  # fmt: skip
            trainer = Trainer(Model(Config(dropout=0.0)), arguments, train_dataset=rows, eval_dataset=rows)
            trainer.compute_metrics = lambda _, lr=lr, seed=seed, trainer=trainer: {
                "accuracy": accuracy(lr, seed, round(trainer.state.epoch))
            }
            trainer.train()


def ray(folder):
    import ray
    from ray import tune

    ray.init(num_cpus=2, include_dashboard=False)

    def train(config):
        for epoch in range(1, 4):
            tune.report({"accuracy": accuracy(config["lr"], config["seed"], epoch)})

    space = {"lr": tune.grid_search([0.1, 0.3]), "seed": tune.grid_search([*SEEDS])}
    tune.Tuner(train, param_space=space, run_config=tune.RunConfig("sweep", str(folder))).fit()
    ray.shutdown()


def ray_retried(folder):
    """Writes trials of which seed 0 of the second rate fails once, and seed 1 each time."""
    import ray
    from ray import tune

    ray.init(num_cpus=2, include_dashboard=False)
    marks = folder.parent / "marks"
    marks.mkdir(exist_ok=True)

    def train(config):
        mark = marks / f"{config['lr']}-{config['seed']}"
        fails = config["lr"] == 0.3 and (config["seed"] == 1 or (config["seed"] == 0 and not mark.exists()))
        mark.touch()
        for epoch in range(1, 4):
            if fails and epoch == 3:
                time.sleep(1.5)  # Ray writes times in seconds.
                raise RuntimeError("no data")
            tune.report({"accuracy": accuracy(config["lr"], config["seed"], epoch)})

    space = {"lr": tune.grid_search([0.1, 0.3]), "seed": tune.grid_search([*SEEDS])}
    again = tune.FailureConfig(max_failures=1)
    configured = tune.RunConfig("sweep", str(folder), failure_config=again)
    tune.Tuner(train, param_space=space, run_config=configured).fit()
    ray.shutdown()
    shutil.rmtree(marks)
    for state in folder.rglob("experiment_state-*.json"):
        # Without pickles, which it has as text.
        trials = [json.loads(text) for text, _ in json.loads(state.read_text())["trial_data"]]
        kept = [{name: trial[name] for name in ("trial_id", "status", "relative_logdir")} for trial in trials]
        state.write_text(json.dumps({"trial_data": [[json.dumps(trial), "{}"] for trial in kept]}))
    for state in folder.rglob("basic-variant-state-*.json"):
        state.unlink()


def sacred(folder):
    """Writes runs of which seed 1 of the second rate fails after two epochs, and seed 2 of the first is interrupted."""
    from sacred import Experiment
    from sacred.observers import FileStorageObserver

    for lr in (0.1, 0.3):
        for seed in SEEDS:
            experiment = Experiment("train", save_git_info=False)
            experiment.observers.append(FileStorageObserver(folder, copy_sources=False))
            experiment.add_config(lr=lr, seed=seed)

            @experiment.main
            def main(_run, lr, seed):
                for epoch in range(1, 4):
                    if epoch == 3 and (lr, seed) == (0.3, 1):
                        raise RuntimeError("no data")
                    if epoch == 3 and (lr, seed) == (0.1, 2):
                        raise KeyboardInterrupt
                    _run.log_scalar("accuracy", accuracy(lr, seed, epoch), epoch)

            with suppress(RuntimeError, KeyboardInterrupt):
                experiment.run()
    for file in folder.rglob("run.json"):
        run = json.loads(file.read_text())
        del run["host"], run["experiment"]
        file.write_text(json.dumps(run, indent=1) + "\n")


def timm(folder):
    """Writes what the `train.py` of timm, which is no part of its package, writes by its `update_summary`."""
    import yaml

    place = importlib.util.find_spec("timm").submodule_search_locations[0]
    summary = runpy.run_path(f"{place}/utils/summary.py")

    for lr in (0.1, 0.3):
        for seed in SEEDS:
            run = folder / f"2026010{seed}-12000{int(10 * lr)}-resnet18-32"
            run.mkdir()
            arguments = {
                "model": "resnet18", "lr": lr, "seed": seed, "output": str(folder), "drop": 0.0, "mean": None,
                "experiment": "", "model_kwargs": {}, "amp": False, "epochs": 3, "batch_size": 32,
            }  # fmt: skip
            (run / "args.yaml").write_text(yaml.safe_dump(arguments, default_flow_style=False))
            for epoch in range(3):
                value = 100 * accuracy(lr, seed, epoch + 1)
                summary["update_summary"](
                    epoch, {"loss": 3.0 - epoch}, {"loss": 2.0, "top1": value, "top5": value + 5},
                    run / "summary.csv", lr=lr / (epoch + 1), write_header=epoch == 0,
                )  # fmt: skip


def tensorboard(folder):
    """Writes new events by the writer of tensorboard, old ones by the writer of PyTorch; one run starts again."""
    import torch
    from tensorboard.summary import Writer
    from torch.utils.tensorboard import SummaryWriter

    for lr in (0.1, 0.3):
        for seed in SEEDS:
            run = folder / "logs" / f"lr{lr}_seed{seed}"
            old = SummaryWriter(str(run))
            for epoch in range(1, 3 if seed == 0 else 4):
                # A run that starts again had other numbers in the epoch at which it starts.
                value = accuracy(lr, seed, epoch) - (seed == 0 and epoch == 2)
                old.add_scalar("eval/accuracy", value, epoch, walltime=epoch)
                old.add_histogram("weights", torch.tensor([0.0, 1.0]), epoch, bins=[0, 1, 2])
            old.close()
            if seed == 0:
                new = Writer(str(run))
                for epoch in range(2, 4):
                    new.add_scalar("eval/accuracy", accuracy(lr, seed, epoch), epoch)
                new.close()


def logs(folder):
    """Writes what a loop with a bar of tqdm prints."""
    code = (
        "import sys; sys.path.insert(0, {here!r})\n"
        "from make import accuracy\n"
        "from tqdm import tqdm\n"
        "for epoch in range(1, 4):\n"
        "    bar = tqdm(range(3), desc=f'Epoch {{epoch}}', file=sys.stdout, mininterval=0)\n"
        "    for step in bar:\n"
        "        bar.set_postfix(loss=1 / (step + epoch))\n"
        "    print(f'epoch {{epoch}} done; val acc: {{accuracy({lr}, {seed}, epoch):.3%}}')\n"
    )
    for lr in (0.1, 0.3):
        for seed in SEEDS:
            text = code.format(here=str(Path(__file__).parent), lr=lr, seed=seed)
            done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=False, check=True)
            (folder / f"lr{lr}_s{seed}.log").write_bytes(done.stdout)


KEPT = re.compile(r".*\.(ya?ml|csv|jsonl?|log)|events\.out\.tfevents.*|error\.txt")
TOOLS = {
    function.__name__: function
    for function in (hydra, lightning, transformers, ray, ray_retried, sacred, timm, tensorboard, logs)
}


def tidy(folder):
    """Removes weights and pickles, and names of machine and user."""
    host = os.uname().nodename
    for path in sorted(folder.rglob("*"), reverse=True):
        if path.is_dir() and not path.is_symlink():
            if not any(path.iterdir()):
                path.rmdir()
            continue
        if path.is_symlink() or not KEPT.fullmatch(path.name) or path.stat().st_size > 50_000:
            path.unlink()
            continue
        if ".tfevents." in path.name:
            # A kilobyte at the end of such files may name the machine: they do not, but their names do.
            path.rename(path.with_name(path.name.replace(host, "host")))
            continue
        try:
            text = path.read_bytes().decode()
        except UnicodeDecodeError:  # A pickle, whatever its name.
            path.unlink()
            continue
        for word, other in (
            (str(folder), "/data/runs"),
            (str(Path(__file__).parent), "/data"),
            (host, "host"),
        ):
            text = text.replace(word, other)
        text = re.sub(r"/[^\s\"',\\]*/site-packages", "site-packages", text)
        path.write_bytes(re.sub(r"/(home|root|tmp)/[^\s\"',\\]*", "/data", text).encode())


if __name__ == "__main__":
    tool, target = sys.argv[1], Path(sys.argv[2]).resolve()
    target.mkdir(parents=True, exist_ok=True)
    TOOLS[tool](target)
    tidy(target)
