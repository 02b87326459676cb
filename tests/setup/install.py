"""Installs the tested versions into the environment that runs this script: `make setup` calls it.

On Linux, torch from PyPI brings gigabytes of CUDA libraries. A machine without an NVIDIA GPU therefore gets torch's
CPU build first, if the index that offers it answers at once. Everything else comes from the user's own indexes, less
the extra ones that do not answer: pip would try each of them six times for each of 130 packages.
"""

import argparse
import ast
import enum
import os
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import BaseHandler, HTTPSHandler, ProxyHandler, Request, build_opener

TORCH_INDEX = "https://download.pytorch.org/whl/cpu"
SECONDS = 5.0
"""The time that an index has to answer, all its addresses together."""
SLOWEST_DRIVER = 30.0
"""Seconds that `nvidia-smi` may take: it starts the driver where nothing else has."""
PIP = (sys.executable, "-m", "pip")
# Python compiles a module when it is first imported; compiling all of them takes as long as installing them.
INSTALL = (*PIP, "install", "--no-compile", "--disable-pip-version-check", "--constraint", "constraints.txt")

Settings = dict[str, dict[str, str]]
"""Section of pip's configuration, least binding first → option → value."""


class Torch(enum.Enum):
    """The choice of torch's build, as it is told."""

    CPU = "torch: the CPU build from {index} (about 200 MB), as this machine shows no NVIDIA GPU."
    NOT_LINUX = "torch: the build of your own index, which is small except on Linux."
    GPU = "torch: the build of your own index, usually with CUDA (gigabytes), as nvidia-smi lists a GPU."
    NO_ANSWER = (
        "torch: the build of your own index. The index of the CPU build, {index}, is not usable: {fault}.\n"
        "On Linux, torch may thus be the build with CUDA: gigabytes, which can take many minutes."
    )


@dataclass(frozen=True)
class Answer:
    """The answer of an index that is asked for torch."""

    status: int = 0
    """The status of HTTP, 0 without any."""
    fault: str = ""
    """What went wrong, for people; empty if nothing did."""

    @property
    def usable(self) -> bool:
        """The fitness for pip, which accepts that there is no such package, and retries after any other fault."""
        return 0 < self.status < 500


def read_settings() -> Settings:
    """Returns what pip's files and variables set for `pip install`."""
    settings: Settings = {"global": {}, "install": {}, ":env:": {}}
    listed = subprocess.run([*PIP, "config", "list"], stdout=subprocess.PIPE, text=True, check=False)
    for line in listed.stdout.splitlines():
        name, _, value = line.partition("=")
        section, _, option = name.partition(".")
        if section in settings:
            settings[section][option] = ast.literal_eval(value)
    return settings


def in_force(settings: Settings, option: str) -> str:
    """Returns the value of the most binding section that sets the option."""
    values = [options[option] for options in settings.values() if options.get(option)]
    return values[-1] if values else ""


def without_login(index: str) -> str:
    """Returns an address that may be shown."""
    parts = urlsplit(index)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


def handlers(index: str, settings: Settings) -> list[BaseHandler]:
    """Returns what lets urllib reach an index as pip does: by the same proxy, trusting the same certificates."""
    context = ssl.create_default_context()
    for bundle in (in_force(settings, "cert"), os.environ.get("REQUESTS_CA_BUNDLE", "")):
        if Path(bundle).is_file():
            context.load_verify_locations(bundle)
    parts = urlsplit(index)
    if {parts.hostname, parts.netloc.rpartition("@")[2]} & set(in_force(settings, "trusted-host").split()):
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    proxy = in_force(settings, "proxy")
    proxies = {"http": proxy, "https": proxy} if proxy else None  # else those of the environment
    return [HTTPSHandler(context=context), ProxyHandler(proxies)]


def ask(index: str, settings: Settings, seconds: float) -> Answer:
    """Returns the answer of one index, whose every address has as many seconds."""
    try:
        # Servers refuse the name that urllib gives itself.
        request = Request(f"{without_login(index).rstrip('/')}/torch/", headers={"User-Agent": "pip"})
        with build_opener(*handlers(index, settings)).open(request, timeout=seconds) as response:
            return Answer(response.status)
    except HTTPError as error:
        return Answer(error.code, f"HTTP status {error.code}")
    except URLError as error:
        return Answer(fault=str(error.reason))
    except (OSError, HTTPException, ValueError) as error:
        return Answer(fault=str(error) or type(error).__name__)


def ask_all(indexes: Iterable[str], settings: Settings, seconds: float) -> dict[str, Answer]:
    """Returns the answers of indexes that are asked at the same time, and waits for none beyond these seconds."""
    answers = {index: Answer(fault=f"nothing within {seconds:g} seconds") for index in indexes}

    def fill(index: str) -> None:
        answers[index] = ask(index, settings, seconds)

    # Daemons: the end of the script does not wait for one that still hangs.
    threads = [threading.Thread(target=fill, args=(index,), daemon=True) for index in answers]
    end = time.monotonic() + seconds
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, end - time.monotonic()))
    return dict(answers)


def extra_indexes(settings: Settings, seconds: float) -> tuple[list[str], dict[str, str]]:
    """Returns the extra indexes to use, and the faults of those to leave out.

    The most binding section that names any decides, as in pip; one whose indexes are all left out counts as empty.
    """
    faults: dict[str, str] = {}
    for options in reversed(settings.values()):
        indexes = options.get("extra-index-url", "").split()
        remote = [index for index in indexes if index.startswith(("http://", "https://"))]
        answers = ask_all(remote, settings, seconds)
        unusable = {index: answer.fault for index, answer in answers.items() if not answer.usable}
        faults |= unusable
        usable = [index for index in indexes if index not in unusable]
        if usable:
            return usable, faults
    return [], faults


def has_gpu() -> bool:
    """Returns whether `nvidia-smi` lists a GPU."""
    try:
        command = ["nvidia-smi", "--list-gpus"]
        listed = subprocess.run(command, capture_output=True, text=True, timeout=SLOWEST_DRIVER, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return listed.returncode == 0 and listed.stdout.startswith("GPU ")


def choose_torch(platform: str, index: str, settings: Settings, seconds: float) -> tuple[Torch, str]:
    """Returns the choice, and what is wrong with the index of the CPU build if that decides."""
    if platform != "linux":
        return Torch.NOT_LINUX, ""
    if has_gpu():
        return Torch.GPU, ""
    answer = ask_all([index], settings, seconds)[index]
    if answer.fault:
        return Torch.NO_ANSWER, answer.fault
    return Torch.CPU, ""


def say(message: str) -> None:
    """Prints a line before those of pip, which is another process."""
    print(message, flush=True)


def main() -> int:
    """Installs torch, then everything else, and returns pip's exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--torch-index", default=TORCH_INDEX, help="where torch's CPU build is")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="within which an index has to answer")
    options = parser.parse_args()
    if sys.version_info < (3, 11):  # noqa: UP036, as any Python may run this
        say(
            f"ablate needs Python 3.11 or later; this is {sys.version.split()[0]}. With a later one, such as 3.12:"
        )
        say("make clean && make run PYTHON=python3.12")
        return 1

    settings = read_settings()
    indexes, faults = extra_indexes(settings, options.seconds)
    environment = dict(os.environ)
    for index, fault in faults.items():
        say(f"Left out an extra index of pip's settings, {without_login(index)}: {fault}.")
    if faults:
        # A blank counts as a list without entries, an empty value as none at all: then that of a file would hold.
        environment["PIP_EXTRA_INDEX_URL"] = " ".join(indexes) or " "

    torch, fault = choose_torch(sys.platform, options.torch_index, settings, options.seconds)
    say(torch.value.format(index=options.torch_index, fault=fault))
    if torch is Torch.CPU:
        # What torch depends on comes later, from the user's own index: this one has few versions of it.
        source = ("--no-deps", "--retries", "1", "--timeout", "15", "--index-url", options.torch_index)
        if subprocess.run([*INSTALL, *source, "torch"], env=environment, check=False).returncode != 0:
            say("That failed. torch comes from your own index instead, usually with CUDA (gigabytes).")
    return subprocess.run([*INSTALL, "--editable", ".[train,test]"], env=environment, check=False).returncode


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
