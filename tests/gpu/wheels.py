"""Fetches the wheels that `run.sh` installs where there is torch and no network: `python tests/gpu/wheels.py FOLDER`.

They are what `ablate[train]` needs, in the tested versions, without what the machine has. All must be free of conflicts
by themselves, since the machine installs them without asking what they need.
"""

import argparse
import re
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
THERE = ("torch", "numpy", "pandas", "scipy", "matplotlib", "seaborn", "scikit-learn", "pyarrow")
"""Packages that the machine has, with all that they need."""
PLATFORMS = (
    "manylinux_2_28_x86_64",
    "manylinux_2_27_x86_64",
    "manylinux_2_17_x86_64",
    "manylinux2014_x86_64",
)
MAX_BYTES = 44 * 2**20
"""Bytes of all wheels; with the working tree they must stay below 64 MiB."""


def needed(package: str, extras: tuple[str, ...], seen: dict[str, str]) -> None:
    """Adds all that a package needs to `seen`, but what is there already: name → version."""
    try:
        found = distribution(package)
    except PackageNotFoundError:
        return  # A requirement of another system or Python.
    for text in found.requires or []:
        requirement = Requirement(text)
        name = canonicalize_name(requirement.name)
        environments = [{**default_environment(), "extra": extra} for extra in ("", *extras)]
        marker = requirement.marker
        is_wanted = marker is None or any(marker.evaluate(environment) for environment in environments)
        if not is_wanted or name in seen:
            continue
        try:
            seen[name] = distribution(name).version
        except PackageNotFoundError:
            continue
        needed(name, tuple(requirement.extras), seen)


def main() -> None:
    """Fetches the wheels into a folder, and builds that of ablate. Ends with an error where they are too large."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--python", default="3.12", help="the Python of the machine")
    arguments = parser.parse_args()
    there: dict[str, str] = dict.fromkeys(THERE, "")
    for package in THERE:
        needed(package, (), there)
    seen = dict(there)
    needed("ablate", ("train",), seen)
    seen = {name: version for name, version in seen.items() if name not in there}
    arguments.folder.mkdir(parents=True, exist_ok=True)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    wanted = [f"{name}=={re.sub(r'[+].*', '', version)}" for name, version in sorted(seen.items())]
    options = [
        "--no-deps",
        "--only-binary=:all:",
        "--python-version",
        arguments.python,
        "--implementation",
        "cp",
    ]
    for platform in PLATFORMS:
        options += ["--platform", platform]
    subprocess.run([*pip, "download", "--quiet", *options, "--dest", arguments.folder, *wanted], check=True)
    size = sum(file.stat().st_size for file in arguments.folder.iterdir())
    print(f"{len(wanted)} wheels, {size / 2**20:.1f} MiB in {arguments.folder}")
    if size > MAX_BYTES:
        sys.exit(f"more than {MAX_BYTES / 2**20:.0f} MiB")


if __name__ == "__main__":
    main()
