"""Damaged files of the store and of a study's results: what is damaged is restored, or refused by name."""

import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random

from .case import Place, Shared
from .process import Done
from .studies import STUDIES, Study, Watched
from .tables import VERDICTS, differences, finished, tables

ADVICE = 3
"""Refusals, one after another, whose advice is followed: the file that they name is moved away."""
BESIDE = re.compile(r"(figures/|artifacts/|\.lock$)")
"""Files that hold no number, of which there are many."""


def damage(rng: Random, place: Place) -> str:
    """One or two files are damaged; the study is run, reported, shown and cleaned in some order, and run again."""
    study = STUDIES[rng.choices(list(STUDIES), [5, 3, 3, 4, 1])[0]]
    whole = study.name != "states" or rng.random() < 0.5
    source = study.pristine(place.shared) if whole else interrupted(study, place.shared)
    shutil.copytree(source, place.path, symlinks=True, dirs_exist_ok=True)
    watched = Watched(place, study)
    results = place.path / "results"
    files = [path for path in sorted(results.rglob("*")) if path.is_file() and not BESIDE.search(str(path))]
    harmed = []
    for _ in range(rng.choice((1, 1, 1, 2))):
        path = rng.choice([path for path in files if path.is_file() and not path.is_symlink()])
        harmed.append(f"{path.relative_to(results)}: {harm(rng, path, files)}")
    place.heard.append(f"damage: {harmed}")
    before = len(place.violations)
    refused = False
    if whole:
        for command in rng.sample(
            (("report", study.name), ("list",), ("clean",), ("show",), ("plan",)), rng.choice((1, 2))
        ):
            refused |= not _reads(place, study, *command)
    refused |= _until_done(place, study, watched)
    watched.forgive()
    # Without their dates nobody knows that plan and claims came before the results.
    without: list[str] = []
    if any("claims.csv" in each for each in harmed):
        without += ["exploratory", "reason"]
    if any("plan.json" in each for each in harmed):
        without.append("plan")
    watched.complete(mlflow=False, without=tuple(without))
    place.violations[before:] = [
        f"{violation} [{'; '.join(harmed)}]" for violation in place.violations[before:]
    ]
    return "refused" if refused else "recovered"


def interrupted(study: Study, shared: Shared) -> Path:
    """A folder with the results of a run that was killed, saved states among them."""

    def make(folder: Path) -> Path:
        path = folder / "place"
        path.mkdir()
        file = study.write(path)
        place = Place(path, shared)
        started = place.start(study.command, file, "--jobs", 0, environment={"TORTURE_PACE": "0.1"})
        trials = path / "results" / "store" / "trials"
        while started.running():
            if len([*trials.glob("*.json")]) >= 2 and any(trials.glob("*.state")):
                break
        started.kill()
        started.wait()
        return path

    made = shared.once(f"interrupted-{study.name}", make)
    assert isinstance(made, Path)
    return made


def _reads(place: Place, study: Study, command: str, *arguments: str) -> bool:
    """A command that trains nothing either gives true numbers or refuses; whether it went through."""
    store = place.path / "results" / "store"
    if command == "show":
        arguments = (sorted(finished(store))[0],)
    elif command == "plan":
        arguments = (f"{study.name}.yaml",)
    done = place.ablate(command, *arguments)
    if command == "clean" and "nothing to remove" not in done and done.code == 0:
        # Without a terminal nobody was asked: nothing may be gone.
        place.violation(f"`clean` was not asked: {done.output[-200:]!r}")
    if command == "report" and done.code == 0:
        expected = {name: text for name, text in study.expected(place.shared).items() if name in VERDICTS}
        try:
            wrong = differences(tables(place.path / "results" / study.name, VERDICTS), expected)
        except Exception as error:
            wrong = [repr(error)]
        for line in wrong:
            place.violation(f"`report` gives a wrong number: {line}")
    if command == "show" and done.code == 0:
        metrics = re.findall(r"^  (?:accuracy|loss) +(\S+)$", done.output, re.MULTILINE)
        true = place.shared.once(
            f"metrics-{study.name}", lambda folder: _metrics(study.pristine(place.shared))
        )
        assert isinstance(true, set)
        if wrong_metrics := set(metrics) - true:
            place.violation(f"`show` gives wrong numbers: {sorted(wrong_metrics)}")
    return done.code == 0


def _metrics(folder: Path) -> set[str]:
    """Every value of a metric in the store, as `show` prints it."""
    found = {"–"}
    for path in (folder / "results/store/trials").glob("*.json"):
        found |= {repr(value) for value in json.loads(path.read_text())["metrics"].values()}
    return found


def _until_done(place: Place, study: Study, watched: Watched) -> bool:
    """Runs the study, following the advice of refusals; whether there was one."""
    results = place.path / "results"
    for attempt in range(ADVICE + 1):
        file = f"{study.name}.yaml"
        done = place.ablate(study.command, file, "--jobs", 0, environment=watched.environment())
        if done.code == 0:
            return attempt > 0
        named = _named(done, results)
        if named is None or named == results or attempt == ADVICE:
            place.violation(f"refused without naming a file to mend: [{done.code}] {done.output[-400:]!r}")
            return True
        shutil.move(named, place.path / f"moved-{attempt}-{named.name}")
    return True


def _named(done: Done, results: Path) -> Path | None:
    """The file or folder of the results that a message names."""
    for word in re.findall(r"results/[^\s'\"();,]*", done.output):
        path = results.parent / word.rstrip(".:")
        if os.path.lexists(path) and results in path.parents:
            return path
    return None


def harm(rng: Random, path: Path, files: list[Path]) -> str:
    """Damages a file; what was done."""
    content = path.read_bytes()
    ways: dict[str, Callable[[], object]] = {
        "bytes flipped": lambda: path.write_bytes(_flipped(rng, content)),
        "cut": lambda: path.write_bytes(content[: rng.randrange(len(content) + 1)]),
        "emptied": lambda: path.write_bytes(b""),
        "garbage": lambda: path.write_bytes(rng.randbytes(rng.choice((1, 100, 5000)))),
        "appended": lambda: path.write_bytes(content + rng.choice((b"\0", b"x", content[:100]))),
        "zeroed": lambda: path.write_bytes(b"\0" * len(content)),
        "deleted": path.unlink,
        "another in its place": lambda: _another(rng, path, files),
        "a folder": lambda: (path.unlink(), path.mkdir()),
        "a folder that is not empty": lambda: (path.unlink(), path.mkdir(), (path / "x").write_text("x")),
        "a dangling link": lambda: (path.unlink(), path.symlink_to("gone")),
        "a link to itself": lambda: (path.unlink(), path.symlink_to(path.name)),
        "no rights": lambda: path.chmod(0),
    }
    if path.suffix in (".json", ".csv", ".yaml", ".md"):
        ways |= {
            "a digit": lambda: path.write_text(_digit(rng, path.read_text())),
            "a word": lambda: path.write_text(_word(rng, path.read_text())),
            "a line lost": lambda: path.write_text(_line_lost(rng, path.read_text())),
        }
    if path.suffix == ".json":
        ways |= {
            f"JSON {number}": lambda: path.write_text(_retyped(rng, path.read_text())) for number in range(4)
        }
        if path.parent.name == "trials":
            ways |= {f"swapped {number}": lambda: _swapped(rng, path) for number in range(3)}
            ways["an older one"] = lambda: path.write_text(
                path.read_text().replace('"format": ', '"format": 9', 1)
            )
    if os.geteuid() == 0:
        del ways["no rights"]
    name = rng.choice(list(ways))
    ways[name]()
    return name


def _flipped(rng: Random, content: bytes) -> bytes:
    flipped = bytearray(content)
    for _ in range(rng.choice((1, 1, 4, 16)) if content else 0):
        flipped[rng.randrange(len(flipped))] ^= 1 << rng.randrange(8)
    return bytes(flipped)


def _another(rng: Random, path: Path, files: list[Path]) -> None:
    same = [other for other in files if other != path and other.suffix == path.suffix and other.is_file()]
    path.write_bytes(rng.choice(same).read_bytes() if same else b"")


def _swapped(rng: Random, path: Path) -> None:
    """All files of one trial in the place of another's: each fits the others."""
    other = rng.choice([file for file in path.parent.glob("[!.]*.json") if file != path] or [path])
    for file in other.parent.glob(f"{other.stem}.*"):
        if (target := path.with_suffix(file.suffix)) != file:
            shutil.copyfile(file, target)


def _digit(rng: Random, text: str) -> str:
    """Another digit; in a record, in one of its metrics."""
    begin = max(0, text.find('"metrics"'))
    places = [begin + found.start() for found in re.finditer(r"\d", text[begin:])]
    if not places:
        return text
    place = rng.choice(places[:60])
    return text[:place] + rng.choice("0123456789") + text[place + 1 :]


WORDS = {
    "completed": "diverged", "baseline": "variant", "better": "worse", "supported": "refuted", "null": "0",
    "false": "true",
}  # fmt: skip


def _word(rng: Random, text: str) -> str:
    found = [word for word in WORDS if word in text]
    word = rng.choice(found or ["name"])
    return text.replace(word, WORDS.get(word, "eman"), 1)


def _line_lost(rng: Random, text: str) -> str:
    lines = text.splitlines(keepends=True)
    return "".join(lines[:-1] if len(lines) < 2 else (lines.pop(rng.randrange(len(lines))), lines)[1])


def _retyped(rng: Random, text: str) -> str:
    """A value of another type somewhere near the root."""
    try:
        data = json.loads(text)
    except ValueError:  # It was damaged before.
        return "[]"
    if not isinstance(data, dict) or not data:
        return "[]"
    holder = data
    key = rng.choice(list(data))
    if isinstance(data[key], dict) and data[key] and rng.random() < 0.5:
        holder, key = data[key], rng.choice(list(data[key]))
    holder[key] = "ODD"
    odd = (
        *("null", "[]", "{}", "[1, 2]", '"x"', "1e999", "NaN", "-1", "true", "[" * 100_000 + "]" * 100_000),
        *('{"a": {"a": 1}}', "12345678901234567890" * 20),
    )
    return json.dumps(data, indent=1).replace('"ODD"', rng.choice(odd))
