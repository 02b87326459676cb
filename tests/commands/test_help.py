"""`--help` of every command answers at once, and leaves no command, argument or option without a word."""

import importlib.metadata
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click

import ablate.commands
from ablate.cli import main
from ablate.commands.guide import PAGES

README = (Path(__file__).parents[2] / "README.md").read_text()
TEXT = README + "".join(path.read_text() for path in PAGES.glob("*.md"))
OF_OTHERS = {
    "--array",
    "--hard",
    "--lr",
    "--act",
    "--amp",
    "--no-amp",
    "--no-x",
    "--nox",
    "--optim",
    "--clip",
    "--compile",
    "--constraint",
    "--index-url",
    "--multirun",
    "--record",
    "--log",
    "--output",
    *("--address", "--cpus-per-task", "--follow", "--generate", "--head", "--min-nodes", "--nodes"),
    *("--config", "--nnodes", "--nproc", "--weight-decay"),
    *("--ntasks-per-node", "--num-cpus", "--port", "--time", "--working-dir"),
}
"""Options of pip and Hydra, of Ray and SLURM, of a script, and the first words of those of lm-eval."""
HEAVY = {"torch", "mlflow", "pandas", "numpy", "pydantic", "rich", "ruamel", "jinja2"}


def parameters() -> Iterator[tuple[str, click.Parameter]]:
    for name, command in main.commands.items():
        for parameter in command.params:
            yield name, parameter


def test_a_help_loads_its_own_command_and_nothing_heavy():
    code = "import sys\nfrom ablate.cli import main\n"
    code += "def call(*words):\n    try: main(words)\n    except SystemExit as end: assert not end.code\n"
    code += "call('--version')\ncall('run', '--help')\n"
    code += "loaded = [name for name in sys.modules if name.startswith('ablate.commands.') and '._' not in name]\n"
    code += "assert loaded == ['ablate.commands.run'], loaded\n"
    code += "call('--help')\nfor name in main.commands: call(name, '--help')\n"
    code += f"assert not {HEAVY} & set(sys.modules)\n"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert importlib.metadata.version("ablate") in done.stdout.splitlines()[0]


def test_a_command_is_called_as_its_file_is():
    (root,) = ablate.__path__
    files = {path.stem for path in Path(root, "commands").glob("[!_]*.py")}
    assert {command.name for command in main.commands.values()} == set(main.commands) == files


def test_readme_guide_and_helps_name_no_option_that_is_not_there():
    known = {option for _, parameter in parameters() for option in parameter.opts} | {"--version", "--help"}
    texts = [TEXT, *(command.help or "" for command in main.commands.values())]
    named = {option for text in texts for option in re.findall(r"(?<![\w-])--[a-z][a-z-]+", text)}
    assert named
    assert named - OF_OTHERS <= known


def test_every_command_in_readme_and_guide_can_be_called_so():
    shown = "".join(re.findall(r"```sh\n(.*?)```", TEXT, re.DOTALL)).replace("\\\n", " ")
    calls = re.findall(r"^ablate .*", shown, re.MULTILINE) + re.findall(r"`ablate [^`]*`", TEXT)
    assert len(calls) > 10
    for call in calls:
        # What follows a lone `--` is another program's.
        own = re.split(r" >| -- ", call.strip("`"))[0]
        _, name, *arguments = shlex.split(own, comments=True)
        command = main if name.startswith("--") else main.commands[name]
        options = {word for word in (name, *arguments) if word.startswith("--")}
        assert options <= {option for p in command.params for option in p.opts}, call
