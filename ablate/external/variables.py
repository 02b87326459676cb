"""The variables of the environment of a trial: which say where it runs, which are secrets, and which ablate sets."""

import re
from collections.abc import Iterable

from ablate.base.errors import Gather
from ablate.base.process import THREADS

OF_A_PLACE = re.compile(
    r"(ABLATE|SLURM|PBS|LSB|RAY|WANDB|MLFLOW|XDG|CI|GITHUB)_|(LOCAL_|NODE_|GROUP_)?RANK$|MASTER_|CUDA_VISIBLE|"
    r"(HOST(NAME)?|HOME|USER|LOGNAME|PWD|OLDPWD|PATH|TMPDIR|TEMP|TMP|TERM|COLUMNS|LINES|DISPLAY|SHELL)$"
)
"""Names of variables that say where and as which process a trial runs, and not what it trains."""
# `SORT_KEY` and `PAD_TOKEN` are none, and decide what is trained.
SECRETS = re.compile(
    r"(.+_)?(API|ACCESS|SECRET|PRIVATE|AUTH)_?(ACCESS_)?(KEY|TOKEN|SECRET)(_ID)?$|.+_(SECRET|PASSWORD)$|"
    r"(HF|HUGGING_?FACE(HUB)?(_HUB)?|GH|GITLAB|OPENAI|COMET|NEPTUNE|CLEARML|KAGGLE|NGC|AWS|AZURE)_.*(TOKEN|KEY)$"
)
"""Names of secrets, as services give them."""
_OWN = re.compile("ABLATE_|PWD$")
"""Names of variables that each trial gets from ablate."""


def check_env(names: Iterable[str]) -> None:
    """Raises `Invalid` for variables that a study cannot set: those that ablate sets, and secrets."""
    with Gather() as at:
        for name in names:
            rule = "is set by ablate for each trial"
            at.refuse(_OWN.match(name), name, rule, hint="Choose another name")
            at.refuse(name in THREADS, name, rule, hint="Write resources: {threads: N} under `workload:`")
            is_visible = name == "CUDA_VISIBLE_DEVICES"
            at.refuse(is_visible, name, rule, hint="Write resources: {gpus: N} under `workload:`")
            rule = "is a secret by its name, which reports, MLflow and the folder of results would show"
            hint = "Export it in your shell, from which each trial has its environment"
            at.refuse(SECRETS.match(name), name, rule, hint=hint)
