"""`--help` of every command answers at once, and leaves no command, argument or option without a word."""

import importlib.metadata
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import ablate.commands
from ablate.cli import main
from ablate.commands.guide import PAGES

README = (Path(__file__).parents[2] / "README.md").read_text()
TEXT = README + "".join(path.read_text() for path in PAGES.glob("*.md"))
OF_OTHERS = {"--constraint", "--index-url", "--multirun"}
"""Options of pip and Hydra."""
HEAVY = {"torch", "mlflow", "pandas", "numpy", "pydantic", "rich", "ruamel", "jinja2"}


def parameters() -> Iterator[tuple[str, click.Parameter]]:
    for name, command in main.commands.items():
        for parameter in command.params:
            yield name, parameter


@pytest.mark.parametrize(
    "arguments", [["--version"], ["--help"], *([name, "--help"] for name in main.commands)], ids=" ".join
)
def test_nothing_heavy_is_loaded(arguments: list[str]) -> None:
    code = f"import sys\nfrom ablate.cli import main\ntry: main({arguments})\nexcept SystemExit: pass\n"
    code += f"assert not {HEAVY} & set(sys.modules)\n"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    expected = importlib.metadata.version("ablate") if arguments == ["--version"] else "Usage:"
    assert expected in done.stdout


def test_a_command_is_imported_only_when_it_is_asked_for() -> None:
    code = "import sys\nfrom ablate.cli import main\ntry: main(['run', '--help'])\nexcept SystemExit: pass\n"
    code += "print(*(name for name in sys.modules if name.startswith('ablate.commands.')))\n"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.rpartition(".")[2] for name in done.stdout.splitlines()[-1].split()}
    assert loaded == {"run"}


def test_a_command_is_called_as_its_file_is() -> None:
    (root,) = ablate.__path__
    folders = [Path(root, "commands"), *Path(root).glob("features/*/commands")]
    files = {path.stem for folder in folders for path in folder.glob("[!_]*.py")}
    assert {command.name for command in main.commands.values()} == set(main.commands) == files


@pytest.mark.parametrize("name", main.commands)
def test_every_command_says_in_a_line_what_it_does(name: str) -> None:
    line = main.commands[name].get_short_help_str(80)
    assert line.endswith(".")
    assert not line.endswith("...")
    listing = main.get_help(click.Context(main, info_name="ablate", terminal_width=80))
    assert re.search(rf"^  {name} +{re.escape(line)}$", listing, re.MULTILINE)


@pytest.mark.parametrize(
    ("name", "parameter"), list(parameters()), ids=lambda item: getattr(item, "name", item)
)
def test_every_option_has_a_help_text_and_every_argument_is_explained(
    name: str, parameter: click.Parameter
) -> None:
    if isinstance(parameter, click.Option):
        assert parameter.help
        assert parameter.help.endswith((".", ")."))
    else:
        words = re.findall(r"\w+", main.commands[name].help or "")
        assert {parameter.make_metavar(click.Context(main)).strip("[]"), parameter.name.upper()} & set(words)


def test_readme_guide_and_helps_name_no_option_that_is_not_there() -> None:
    known = {option for _, parameter in parameters() for option in parameter.opts} | {"--version", "--help"}
    texts = [TEXT, *(command.help or "" for command in main.commands.values())]
    named = {option for text in texts for option in re.findall(r"(?<![\w-])--[a-z][a-z-]+", text)}
    assert named
    assert named - OF_OTHERS <= known


def test_every_command_in_readme_and_guide_can_be_called_so() -> None:
    shown = "".join(re.findall(r"```sh\n(.*?)```", TEXT, re.DOTALL))
    calls = re.findall(r"^ablate .*", shown, re.MULTILINE) + re.findall(r"`ablate [^`]*`", TEXT)
    assert len(calls) > 10
    for call in calls:
        _, name, *arguments = shlex.split(call.strip("`").partition(" >")[0], comments=True)
        command = main if name.startswith("--") else main.commands[name]
        options = {word for word in (name, *arguments) if word.startswith("--")}
        assert options <= {option for p in command.params for option in p.opts}, call


@pytest.mark.parametrize("wrong", ["rnu", "options", "no.such"])
def test_an_unknown_command_is_refused(wrong: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "ablate", wrong], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert f"No such command '{wrong}'." in done.stderr
    assert ("Did you mean 'run'?" in done.stderr) == (wrong == "rnu")
