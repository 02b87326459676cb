"""Logs: lines of text, in which patterns find the values of a run."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ablate.base.errors import AblateError, Gather, Invalid, listed
from ablate.base.files import NotReadableError, read_plain
from ablate.core.ending import Ending
from ablate.core.log_end import ending_in_lines
from ablate.external.matching import Matching, check_pattern
from ablate.report.words import message
from ablate.runs.cells import NO_VALUE, is_cut, is_number
from ablate.runs.content import digest_of_files
from ablate.runs.ends.run_ends import ending_beside
from ablate.runs.ends.statuses import more_telling
from ablate.runs.formats.metric_files import MetricRows
from ablate.runs.formats.run_history import RunHistory, table_of
from ablate.runs.options import AnalysisOptions
from ablate.runs.reader import Reader, RunsFound
from ablate.runs.run_tree import MAX_RUNS, log_files, run_file

_MAX_BYTES = 2**30
_TERMINAL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
"""What moves and colours the text of a terminal."""
_NO_LOGS = ("readme", "requirements", "license", "notes", "todo", "changelog")
"""Names of texts that lie beside logs, without their endings, in small letters."""
_ENDINGS = (".log", ".out")
_OF_RUN = ("variant", "seed")
"""Names of patterns whose value is text, and one of the whole run."""
EXAMPLE = "--read 'acc=acc[:= ]+([0-9.]+)'"


class LogPatterns:
    """The patterns of a call, with the time that they may take."""

    def __init__(self, patterns: Mapping[str, str]) -> None:
        """`patterns`: name → pattern with one group. Raises `Invalid`."""
        with Gather() as at:
            for name, pattern in patterns.items():
                with at(f"--read {name}"):
                    check_pattern(pattern)
        self._patterns = patterns

    def rows_of(self, file: Path) -> MetricRows:
        """Returns the values of each line of a log that has one; those of the whole run are the end.

        A line that a bar of progress has written over counts too. Raises `Invalid` with the path of the file.
        """
        try:
            text = read_plain(file, _MAX_BYTES).decode(errors="replace")
        except NotReadableError as error:
            raise Invalid("", f"{file}: {error}") from None
        matching = Matching(self._patterns)
        lines = re.split(r"\r\n|\r|\n", text)
        values = _LogValues(file)
        for number, line in enumerate(lines, start=1):
            try:
                matches = matching.last_matches(_TERMINAL.sub("", line))
            except AblateError as error:
                raise Invalid("", f"{file}, line {number}: {error}") from None
            if number == len(lines):
                matches = values.without_cut(number, matches)
            values.add(number, matches)
        # What stands before the last value has not ended the run.
        return values.as_rows(ending_in_lines(lines[values.last_line :], file.name))


class _LogValues:
    """The values that patterns have found in a log, line by line."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._rows: list[dict[str, str]] = []
        self._of_run: dict[str, str] = {}
        self._notes: dict[str, None] = {}
        self._last_words: dict[str, str] = {}
        self.last_line = 0
        """The number of the last line with a value of a step."""

    def add(self, number: int, matches: Mapping[str, str]) -> None:
        """Adds what the patterns found in a line: name → text. Raises `Invalid` for a line of another run."""
        row: dict[str, str] = {}
        for name, match in matches.items():
            if name in _OF_RUN:
                _refuse_other_run(f"{self._file}, line {number}", name, match.strip(), self._of_run)
                self._of_run[name] = match.strip()
            else:
                row[name] = self._value(name, match)
        if row:
            self._rows.append(row)
            self.last_line = number

    def without_cut(self, number: int, matches: Mapping[str, str]) -> dict[str, str]:
        """Returns what the patterns found in the last line, without numbers that the file is cut within.

        The first value of a pattern is none: a sentence may end with it.
        """
        whole: dict[str, str] = {}
        for name, match in matches.items():
            earlier = [row[name] for row in self._rows if name in row]
            if earlier and is_cut(match, earlier):
                self._notes[message("analyse.cut_number", f"{self._file}, line {number}", match)] = None
            else:
                whole[name] = match
        return whole

    def _value(self, name: str, match: str) -> str:
        """Returns the number in what a pattern found, without a percent sign; `NO_VALUE` for a word."""
        value = match.strip().rstrip(",;)]}").rstrip(".")
        if value.endswith("%"):
            self._notes[message("analyse.percent_signs", [name])] = None
        value = value.removesuffix("%").rstrip()
        if is_number(value):
            self._last_words.pop(name, None)
            return value
        self._last_words[name] = value
        return NO_VALUE

    def as_rows(self, ended: Ending) -> MetricRows:
        """Returns the values, of a run that ended so, with a note on each metric whose last value is a word."""
        for name, word in self._last_words.items():
            self._notes[message("analyse.ends_with_a_word", name, str(self._file), word)] = None
        has_numbers = any({*row.values()} != {NO_VALUE} for row in self._rows)
        return MetricRows(self._rows if has_numbers else [], self._of_run, [*self._notes], ended)


class LogReader(Reader):
    """Reads logs by patterns, a run a file."""

    looks_for = f"logs, a run a file, with {EXAMPLE}"

    def knows(self, path: Path, options: AnalysisOptions) -> bool:
        """Returns whether the call gives patterns, or a folder has files that are logs by their names."""
        if options.read or not path.is_dir():
            return bool(options.read)
        return any(file.suffix.lower() in _ENDINGS for file in log_files(path))

    def read(self, path: Path, options: AnalysisOptions) -> RunsFound:
        """Returns a row for each run and step, or line with a value. Raises `Invalid`."""
        if not options.read:
            raise Invalid(
                "--read", "is needed for logs: a pattern whose group is the value", hint=f"As {EXAMPLE}"
            )
        patterns = LogPatterns(options.read)
        files = log_files(path) if path.is_dir() else [path]
        if not files or len(files) > MAX_RUNS:
            rule = f"must have from one to {MAX_RUNS:,} files of text; it has {len(files):,}"
            raise Invalid("RUNS", rule, str(path))
        root = path if path.is_dir() else path.parent
        notes: list[str] = []
        runs = []
        for file in files:
            read = patterns.rows_of(file)
            notes += read.notes
            name = file.relative_to(root).with_suffix("").as_posix()
            ended = more_telling(read.ended, ending_beside(run_file(file)))
            content = digest_of_files([file])
            runs.append(
                RunHistory(name, str(file), rows=read.rows, known=read.end, ended=ended, content=content)
            )
        runs = _named_apart(runs, root)
        endings = {Path(run.place).suffix for run in runs if run.rows}
        others = [run for run in runs if not run.rows and _is_no_log(Path(run.place), endings)]
        if not any(run.rows for run in runs):
            raise found_nothing(listed(map(str, files), 3), options)
        if others:
            notes.append(message("analyse.passed_over", [run.place for run in others]))
        return table_of([run for run in runs if run not in others], "logs", options, notes)


def _refuse_other_run(place: str, name: str, text: str, of_run: Mapping[str, str]) -> None:
    """Raises `Invalid` for a line that says another variant or seed than one above it."""
    if of_run.get(name, text) != text:
        rule = f"says another {name} than a line above it: a log has one run"
        hint = "Part the runs, or let the pattern find the line that says it alone"
        raise Invalid("", f"{place}: {rule}", f"{of_run[name]!r}, then {text!r}", hint=hint)


def _named_apart(runs: Sequence[RunHistory], root: Path) -> list[RunHistory]:
    """Returns runs by the names of their files without endings, or with them where two would have one name."""
    counts = Counter(run.name for run in runs if run.rows)
    named = []
    for run in runs:
        if counts[run.name] > 1:
            run = replace(run, name=Path(run.place).relative_to(root).as_posix())
        named.append(run)
    return named


def found_nothing(where: str, options: AnalysisOptions) -> Invalid:
    """Returns the error of patterns that find nothing there."""
    given = listed((f"{name} {pattern!r}" for name, pattern in options.read.items()), 4)
    return Invalid("--read", f"finds nothing in {where}", given, hint=f"As {EXAMPLE}")


def _is_no_log(file: Path, endings: Collection[str]) -> bool:
    """Returns whether a file in which no pattern finds anything is no log of a failed run, by its name."""
    return file.suffix not in endings or file.stem.lower() in _NO_LOGS
