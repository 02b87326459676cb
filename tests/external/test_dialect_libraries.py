"""The notations of commands against the libraries that take them."""

import json
import subprocess
import sys

import pytest

from ablate.external.command import filled

pytestmark = pytest.mark.slow

PROGRAMS = {
    "argparse": (
        "argparse",
        """
import argparse, json
p = argparse.ArgumentParser()
p.add_argument("--x", action=argparse.BooleanOptionalAction)
p.add_argument("--betas", nargs="*", type=float)
print(json.dumps(vars(p.parse_args())))
""",
        "{x:--x|--no-x} --betas {betas}",
    ),
    "hydra": (
        "hydra",
        """
import hydra, json
from omegaconf import OmegaConf
@hydra.main(version_base=None)
def main(cfg): print(json.dumps(OmegaConf.to_container(cfg)))
main()
""",
        "+x={x} +clip={clip} +betas={betas} +names={names} hydra.run.dir=. hydra.output_subdir=null",
    ),
    "omegaconf": (
        "omegaconf",
        "import json\nfrom omegaconf import OmegaConf\n"
        "print(json.dumps(OmegaConf.to_container(OmegaConf.from_cli())))",
        "x={x} clip={clip} betas={betas} names={names}",
    ),
    "fire": (
        "fire",
        """
import fire, json
def main(x, clip, betas, names, y=True): print(json.dumps(dict(x=x, clip=clip, betas=betas, names=names)))
fire.Fire(main)
""",
        "--x {x} --clip={clip} --betas {betas} --names={names} {x:--y|--noy}",
    ),
    "tyro": (
        "tyro",
        """
import json, tyro
from dataclasses import asdict, dataclass
@dataclass
class Args:
    must: bool
    betas: tuple[float, ...]
    names: list[str]
    x: bool = True
    clip: float | None = 1.0
print(json.dumps(asdict(tyro.cli(Args))))
""",
        "--must {x} {x:--x|--no-x} --clip {clip} --betas {betas} --names {names}",
    ),
    "click": (
        "click",
        """
import click, json
@click.command()
@click.option("--x/--no-x", default=True)
@click.option("--must", type=bool)
@click.option("--betas", nargs=2, type=float)
def main(x, must, betas): print(json.dumps(dict(x=x, must=must, betas=betas)))
main()
""",
        "{x:--x|--no-x} --must {x} --betas {betas}",
    ),
    "absl": (
        "absl",
        """
import json
from absl import app, flags
flags.DEFINE_bool("x", True, "")
flags.DEFINE_bool("must", True, "")
flags.DEFINE_list("names", [], "")
F = flags.FLAGS
app.run(lambda argv: print(json.dumps(dict(x=F.x, must=F.must, names=F.names, rest=argv[1:]))))
""",
        "{x:--x|--nox} --must={x} --names {plain}",
    ),
}


@pytest.mark.parametrize("x", [True, False])
@pytest.mark.parametrize("library", PROGRAMS)
def test_the_library_takes_what_is_written_for_what_it_is(tmp_path, library, x):
    module, program, command = PROGRAMS[library]
    pytest.importorskip(module)
    (tmp_path / "train.py").write_text(program)
    values = {
        "x": x,
        "clip": None,
        "betas": [0.9, 3e-05],
        "names": ["a", "b c", "null", "it's", "c,d", '"q"', "1"],
        "plain": ["a", "b c"],
    }
    dialect = "hydra" if library == "omegaconf" else library
    words = filled(f"train.py {command}", values, dialect)
    done = subprocess.run(
        [sys.executable, *words], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    taken = json.loads(done.stdout)
    expected = {
        name: values["plain" if (library, name) == ("absl", "names") else name]
        for name in taken.keys() & values
    }
    assert {name: taken[name] for name in expected} == expected
    assert taken.get("must", x) == x
    assert not taken.get("rest")
