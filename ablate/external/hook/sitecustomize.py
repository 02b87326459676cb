"""Python runs this before the code of a trial: modules come from its copy, and what it opens is noted in $ABLATE_TRACE.

A note ends with a NUL and has the time in nanoseconds, `r` for what is read, `w` for what is written anew, `a` for what
is appended to, and the path; or `e`, and a variable of the environment that the code of the trial names, with a digest
of its value; or `s`, and a file outside of the copy that is written after it was read; or `m`, and a path that was
looked for in the copy, which lacks it, and that the original has.
Each process writes a file of its own, and of each path the first of each kind.
"""

import os
import sys
import time

# Every process of a trial waits for these imports: hashlib loads OpenSSL, contextlib all of collections.
try:
    from _sha2 import sha256  # type: ignore[import-not-found]
except ImportError:
    try:
        from _sha256 import sha256  # type: ignore[import-not-found]  # Before Python 3.12.
    except ImportError:
        from hashlib import sha256

ROOT = os.path.join(os.environ["ABLATE_ROOT"], "")
COPY = os.path.join(os.environ["ABLATE_COPY"], "")
RUNS = os.path.join(os.path.dirname(os.path.dirname(COPY)), "")
TRACE = os.path.join(os.environ["ABLATE_TRACE"], "")
INSTALLED = tuple(os.path.join(os.path.realpath(prefix), "") for prefix in {sys.prefix, sys.base_prefix})


OF_ENVIRON = ("<frozen _collections_abc>", os.__file__, "<frozen os>", os.path.__file__, "<frozen posixpath>")
CALLERS = 4
"""Frames of the caller's code in which a name is looked for: helpers pass it on."""


def is_named(name: object, frame) -> bool:  # type: ignore[no-untyped-def]
    """Returns whether the code of a frame, or of its callers, names a variable: itself, in a list, or by its begin."""
    for _ in range(CALLERS):
        if frame is None or os.path.abspath(frame.f_code.co_filename).startswith(INSTALLED):
            return False
        values = [*frame.f_code.co_consts, *map(frame.f_globals.get, frame.f_code.co_names)]
        if any(has(value, name) for value in values):
            return True
        frame = frame.f_back
    return False


def has(value: object, name: object) -> bool:
    """Returns whether a value is a name, has it, or is the begin of it that ends with an underscore."""
    if isinstance(value, str):
        return value == name or (len(value) > 2 and value.endswith("_") and str(name).startswith(value))
    return isinstance(value, (tuple, list, set, frozenset, dict)) and name in value


def mapped(path: str) -> str:
    """Returns the place in the copy of what lies in the original; any other path as it is."""
    path = os.path.realpath(path) if path else path
    if not os.path.join(path, "").startswith(ROOT) or path.startswith(COPY):
        return path
    inside = os.path.join(COPY, os.path.relpath(path, ROOT))
    return inside if os.path.exists(inside) else path


def map_paths() -> None:
    """Has modules that an editable install names be found in the copy."""
    sys.path[:] = [mapped(path) if os.path.isabs(path) else path for path in sys.path]
    for name, module in [*sys.modules.items()]:
        if name.startswith("__editable__"):
            map_values(getattr(module, "MAPPING", {}))
            map_values(getattr(module, "NAMESPACES", {}))
    for finder in sys.meta_path:
        map_values(getattr(finder, "_redirections", {}))


def map_values(places: dict) -> None:
    """Maps the paths that a finder has by name."""
    for name, place in [*places.items()]:
        places[name] = mapped(place) if isinstance(place, str) else [mapped(path) for path in place]


class Trace:
    """Notes the files that this process opens: of the copy, of the original, and modules elsewhere."""

    def __init__(self) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        self.pid = 0
        self.file = -1
        self.flags = flags
        self.seen = set()  # type: ignore[var-annotated]
        self.read_outside = set()  # type: ignore[var-annotated]

    def hear(self, event: str, arguments: tuple) -> None:
        """Notes an opening; see `sys.addaudithook`."""
        try:
            if event == "open":
                self.note(*arguments)
            elif event == "sqlite3.connect":
                self.note(arguments[0], None, os.O_RDWR)
        except Exception:  # What it cannot note is no reason for a trial to fail.
            return

    def note(self, path: object, _mode: object, flags: object) -> None:
        """Notes what is opened, once for reading, writing and appending each."""
        if not isinstance(path, (str, bytes)) or not isinstance(flags, int):
            return
        path = os.path.abspath(os.fsdecode(path))
        if path.startswith((*INSTALLED, TRACE)):
            return
        if not path.startswith((RUNS, ROOT)) and os.path.realpath(path).startswith(COPY):
            path = os.path.realpath(path)  # By a link, as beside the copy of a script.
        is_here = path.startswith((RUNS, ROOT))
        if not (is_here or path.endswith((".py", ".pyc"))):
            self.note_outside(path, flags)
            return
        kind = "r"
        if flags & os.O_TRUNC:
            kind = "w"
        elif flags & os.O_WRONLY:
            kind = "a"
        if (kind, path) not in self.seen:
            self.seen.add((kind, path))
            self.write(kind, path)
            if kind == "r" and not flags & os.O_CREAT and path.startswith(COPY) and not os.path.lexists(path):
                self.note_missing(path)

    def note_outside(self, path: str, flags: int) -> None:
        """Notes a file outside of the copy that is written after it was read, as what trials hand on to one another."""
        if path.startswith(("/dev/", "/proc/", "/sys/")) or "cache" in path.lower():
            return
        if not flags & (os.O_WRONLY | os.O_RDWR):
            self.read_outside.add(path)
        elif path in self.read_outside and ("s", path) not in self.seen:
            self.seen.add(("s", path))
            self.write("s", path)

    def note_missing(self, path: object) -> None:
        """Notes a path of the copy that is not there, where the original has it."""
        try:
            path = os.path.abspath(os.fsdecode(path))  # type: ignore[arg-type]
            original = os.path.join(ROOT, path[len(COPY) :])
            if path.startswith(COPY) and ("m", path) not in self.seen and os.path.lexists(original):
                self.seen.add(("m", path))
                self.write("m", path)
        except Exception:  # As in `hear`.
            return

    def hear_variable(self, name: object, value: object) -> None:
        """Notes a variable of the environment, where a user's code asks for it by its name."""
        try:
            frame = sys._getframe(2)
            is_expanded = False
            while frame.f_code.co_filename.endswith(OF_ENVIRON):
                is_expanded = is_expanded or frame.f_code.co_name == "expandvars"
                frame = frame.f_back  # type: ignore[assignment]
            file = os.path.abspath(frame.f_code.co_filename)
            if file.startswith(INSTALLED) or file == __file__:
                return
            if not (is_expanded or is_named(name, frame)):
                return
            # Its value may be a secret; as `trace.digest_of_variable`.
            digest = "unset" if value is None else sha256(str(value).encode()).hexdigest()[:16]
            variable = f"{name}={digest}"
            if ("e", variable) not in self.seen:
                self.seen.add(("e", variable))
                self.write("e", variable)
        except Exception:  # As in `hear`.
            return

    def write(self, kind: str, path: str) -> None:
        """Writes a note, to a file that a fork begins anew."""
        if self.pid != os.getpid():
            self.pid = os.getpid()
            self.file = os.open(f"{TRACE}{self.pid}-{id(self)}.txt", self.flags, 0o600)
        os.write(self.file, f"{time.time_ns()}\t{kind}\t{path}\0".encode("utf-8", "surrogateescape"))


def hear_missing(trace: Trace) -> None:
    """Has a trace hear of files and modules that the code looks for in vain."""
    status = os.stat
    os.stat = Status(trace, status)
    for supporting in (os.supports_fd, os.supports_dir_fd, os.supports_follow_symlinks):
        if status in supporting:
            supporting.add(os.stat)
    sys.meta_path.append(Last(trace))


class Status:
    """`os.stat`, which notes what is missing; no function, since a class that keeps one makes a method of it."""

    def __init__(self, trace: Trace, status) -> None:  # type: ignore[no-untyped-def]
        self.trace = trace
        self.status = status

    def __call__(self, path, *args, **options):  # type: ignore[no-untyped-def]
        """Returns the status of a path. Raises `OSError`."""
        try:
            return self.status(path, *args, **options)
        except FileNotFoundError:
            if "dir_fd" not in options and not isinstance(path, int):
                self.trace.note_missing(path)
            raise


class Last:
    """The finder that is asked for modules which no other has found."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace

    def find_spec(self, name: str, path: object = None, _target: object = None) -> None:
        """Notes a module that the original has; finds none."""
        for folder in sys.path if path is None else path:  # type: ignore[attr-defined]
            place = os.path.join(folder or os.getcwd(), name.rpartition(".")[2])
            self.trace.note_missing(f"{place}.py")
            self.trace.note_missing(place)


def hear_variables(trace: Trace) -> None:
    """Has a trace hear of the variables that are read."""
    environ = type(os.environ)
    read = environ.__getitem__
    write = environ.__setitem__
    own = set()

    def heard(self, name):  # type: ignore[no-untyped-def]
        if isinstance(name, str) and name not in own:
            value = self._data.get(self.encodekey(name))
            trace.hear_variable(name, None if value is None else self.decodevalue(value))
        return read(self, name)

    def written(self, name, value):  # type: ignore[no-untyped-def]
        own.add(name)  # From here on it is the code's own.
        write(self, name, value)

    environ.__getitem__ = heard  # type: ignore[method-assign]
    environ.__setitem__ = written  # type: ignore[method-assign]


try:
    map_paths()
    trace = Trace()
    hear_variables(trace)
    hear_missing(trace)
    sys.addaudithook(trace.hear)
finally:
    # The module of this name that this one hides, where there is one; Python forgives its absence.
    sys.path[:] = [
        path for path in sys.path if os.path.realpath(path) != os.path.dirname(os.path.realpath(__file__))
    ]
    del sys.modules[__name__]
    __import__(__name__)
