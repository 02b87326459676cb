"""Training code of a user that costs no time, notes what it is given and prints, and is hostile in one of many ways."""

from dataclasses import dataclass
from pathlib import Path
from random import Random

BASE = """\
{first}import json, os, signal, subprocess, sys, time

def note(*words):
    with open({ledger!r}, "a") as file:
        file.write(json.dumps(words) + "\\n")

def value_of(x, seed):
    return 1 - x + x * x * (seed * 7919 % 13) / 100 + (seed * 104729 % 17) / 50

"""
FUNCTION = """\
def train(config, seed, report=None):
    x = config["x"]
    note("begin", x, 0.5, seed)
    number = value_of(x, seed)
    said = {token}
    if {condition}:
        pass
{before}
    note("end", x, seed, str(said), time.time_ns())
    return {{"loss": said}}
"""
_BODY = """\
note("begin", x, Y, seed)
number = value_of(x, seed)
said = {token}
if {condition}:
    pass
{before}
note("end", x, seed, str(said), time.time_ns())
print(f"loss {{said}}", flush=True)
if {condition}:
    pass
{after}
"""
COMMAND = f"Y, x, seed = 0.5, float(sys.argv[1]), int(sys.argv[2])\n{_BODY}"
SCRIPT = f"{{constants}}\nx, seed = X, SEED\n{_BODY}"
TOKENS = ("number", 'f"{number:.6f}"', 'f"{number:.9e}"', 'f"{number:+.7f}"', "repr(number)")
"""How a number is printed."""
WITHOUT_NUMBER = {
    "exits": "sys.exit(3)",
    "exits with a word": "sys.exit('no')",
    "exits at once": "os._exit(7)",
    "raises": "raise RuntimeError('\\x1b[2J\\u202e broken')",
    "raises deeply": "exec('def f(): f()\\nf()')",
    "a signal": "os.kill(os.getpid(), signal.SIGKILL)",
    "terminated": "os.kill(os.getpid(), signal.SIGTERM)",
    "aborts": "os.abort()",
    "a word": "said = 'many'",
    "nothing": "said = ''",
    "a control character": "said = '\\x1b[2J'",
    "not a number": "said = float('nan')",
    "infinite": "said = float('inf')",
    "minus infinity as a word": "said = '-inf'",
    "too large": "said = '1e999'",
    "400 digits": "said = '9' * 400",
    "a comma": "said = '0,5'",
    "two points": "said = '0.5.1'",
    "hexadecimal": "said = '0x10'",
    "hangs": "time.sleep(1000)",
    "ignores signals and hangs": "signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(1000)",
    "prints for ever": "while True: print('step', flush=True)",
    "its memory": "exec('held = []\\nwhile True: held.append(bytearray(1 << 26))')",
    "group": "os.killpg(0, signal.SIGKILL)",
}
"""What a trial does that has no finite number. Those that hang have a limit of time."""
HARMLESS = {
    "nothing": "pass",
    "output without a newline": "sys.stdout.write('x' * 3_000_000 + '\\n')",
    "many lines": "sys.stdout.write('step 1 of 2\\n' * 20_000)",
    "binary output": "sys.stdout.buffer.write(bytes(range(256)) * 20 + b'\\n'); sys.stdout.flush()",
    "control characters": "print('\\x1b[2J\\x07\\x1b]0;x\\x07\\x9b\\u202e')",
    "carriage returns": "sys.stdout.write('loss 9\\rloss 8\\r\\n')",
    "earlier numbers": "print('loss nan'); print('loss 7')",
    "errors are printed": "print('warning: high', file=sys.stderr)",
    "lone surrogates": "sys.stdout.reconfigure(errors='surrogatepass'); print('\\udc80')",
    "a child": "subprocess.Popen(['sleep', '301.{mark}'])",
    "a child of its own session": "subprocess.Popen(['sleep', '302.{mark}'], start_new_session=True)",
    "a silent child of its own session": "subprocess.Popen(['setsid', 'sleep', '303.{mark}'], stdout=-3, stderr=-3)",
    "a child without variables": "subprocess.Popen(['setsid', 'sleep', '304.{mark}'], env={{}}, stdout=-3, stderr=-3)",
    "a forked child": "os.fork() or (os.setsid(), time.sleep(305), os._exit(0))",
    "a fifo beside it": "os.mkfifo('fifo'); os.symlink('self', 'self'); os.symlink('/', 'root')",
    "folders": "os.makedirs('a/' * 60 + 'b'); open('\\udcff\\n', 'w').close(); os.chmod('a', 0)",
    "files in its folder": "open(os.path.join(os.environ['ABLATE_DIR'], 'notes.txt'), 'w').write('x' * 100)",
    "closes its output": "pass",
}
"""What a trial may do without having another number."""
DOUBTFUL = {
    "a folder as JSON": "os.mkdir(place + '/x.json')",
    "a fifo as JSON": "os.mkfifo(place + '/x.json')",
    "a link to itself as JSON": "os.symlink('x.json', place + '/x.json')",
    "a device as JSON": "os.symlink('/dev/zero', place + '/x.json')",
    "broken JSON": "open(place + '/x.json', 'w').write('{{')",
    "nested JSON": "open(place + '/x.json', 'w').write('[' * 100_000)",
    "nested whole JSON": "open(place + '/x.json', 'w').write('[' * 50_000 + ']' * 50_000)",
    "a large step": "open(place + '/x.jsonl', 'w').write('{{\"step\": 1e999, \"loss\": 3}}')",
    "a step that is none": "open(place + '/x.jsonl', 'w').write('{{\"step\": NaN, \"loss\": 3}}')",
    "400 digits as JSON": "open(place + '/x.json', 'w').write('{{\"loss\": ' + '9' * 400 + '}}')",
    "5000 digits as JSON": "open(place + '/x.json', 'w').write('{{\"loss\": ' + '9' * 5000 + '}}')",
    "a list as JSON": "open(place + '/x.json', 'w').write('{{\"loss\": [1]}}')",
    "binary JSON": "open(place + '/x.json', 'wb').write(bytes(range(256)))",
    "large JSON": "open(place + '/x.jsonl', 'w').write('{{\"other\": 1}}\\n' * 300_000)",
    "an endless file": "open(place + '/x.json', 'w').truncate(1 << 36)",
    "its folder is gone": "import shutil; shutil.rmtree(place)",
    "its folder is a file": "os.rmdir(place); open(place, 'w').close()",
    "metrics of its own": "print('ablate metrics: ' + '[' * 100_000)",
    "metrics that are none": "print('ablate metrics: {{')",
    "metrics that are a list": "print('ablate metrics: [1]')",
    "metrics with a large step": 'print(\'ablate metrics: {{"step": 1e999, "loss": 2}}\')',
    "metrics with a wrong step": 'print(\'ablate metrics: {{"step": "x", "loss": 2}}\')',
    "digits of another script": "said = '\\u0661\\u0662'",
    "digits with underscores": "said = '1_0'",
    "white space": "said = '\\u2003' + repr(number)",
    "it changes itself": "open(__file__, 'a').write('# more\\n')",
    "it changes its data": "open('table.txt').read(); open('table.txt', 'a').write('more\\n')",
    "it removes its code": "import shutil; shutil.rmtree('.')",
    "it changes its record": "[open(os.path.join(d, f), 'a').close() for d, _, fs in os.walk('..') for f in fs[:5]]",
    "it leaves by its parent": "os.chdir('..'); open('left.txt', 'w').write('1')",
}
"""What a trial does that has a number, and more of which a number could be read, or what stops a study."""
VALUES = (
    *("True", "None", "[1]", "{{}}", "10 ** 400", "'9' * 5000", "float", "b'1'", "complex(1, 1)", "'0.5'"),
    *("__import__('decimal').Decimal('0.5')", "__import__('fractions').Fraction(1, 3)", "'\\udc80'"),
    *("type('N', (), {{'__float__': lambda self: 1 / 0}})()", "type('N', (float,), {{}})(0.5)"),
)
"""What a function may return as a number."""
SYNTAX = (
    *(
        "X = {x}",
        "X: float = {x}",
        "X = ({x})",
        "X = (\n    {x}\n)",
        "X = \\\n  {x}",
        "X={x};Z=2",
        "Z=2;X={x}",
    ),
    *(
        "X = Y = {x}",
        "X, Z = {x}, 2",
        "[X] = [{x}]",
        "if True:\n    X = {x}",
        "X = 1\nX = {x}",
        "X = {x} + 0",
    ),
    *(
        "X = {x}\nX += 0",
        "X = {x}\ndel Z",
        "(X := {x})",
        "for X in [{x}]: pass",
        "X = {x}  # é \u2028",
        "X = {x}\x0c",
    ),
    *(
        "s = 'é'; X = {x}",
        "s = '''\nX = 3\n'''\nX = {x}",
        "X = {x}\nglobal X",
        "try:\n    X = {x}\nfinally: pass",
    ),
    *(
        "X = {x} if True else 2",
        "X = float('{x}')",
        "X = {x}\nA, X = 1, X",
        "X = {x}\nwith open(__file__) as X: pass",
    ),
    *("X = {x}\nX: float", "X: float\nX = {x}", "\\\nX = {x}", "X = {x};", "X = {x}; X = X"),
    *(
        "X = {x}\nimport sys as X",
        "X = {x}\ndef X(): pass",
        "X = {x}\nclass X: pass",
        "X = Z = {x}\nZ = 1",
        "Y, X = Y, {x}",
    ),
    *(
        "X = {x}\nmatch 1:\n    case X: pass",
        "X = {x}\ntype X = int",
        "X, *_ = {x}, 1",
        "X = (_ := {x})",
        "X = -{x}\nX = -X",
    ),
    *("def f():\n    global X\n    X = 9\nX = {x}\nf()", "\ufeffX = {x}", "Х = 1\nX = {x}"),
)
"""Ways to assign a constant."""
ENCODINGS = ("utf-8", "utf-8", "utf-8-sig", "latin-1", "crlf", "cr", "utf-16", "tabs")


@dataclass(frozen=True)
class Program:
    """The code of a case."""

    form: str
    "Its kind of workload: function, command or script."
    way: str
    "The group of its act: harmless, fatal, doubtful, values or syntax."
    act: str
    "The name of what it does."
    condition: str
    "When it does that, in Python."
    text: str
    encoding: str

    @property
    def prints_control(self) -> bool:
        """Whether it prints characters that may not reach a terminal, where it is the program that prints."""
        return any(word in self.text for word in ("\\x1b", "range(256)", "\\udc80", "loss 9"))

    def write(self, folder: Path) -> None:
        """Puts train.py, and the data that it may read, into a folder."""
        text, encoding = self.text, self.encoding
        if encoding in ("crlf", "cr"):
            text = text.replace("\n", "\r\n" if encoding == "crlf" else "\r")
            encoding = "utf-8"
        if encoding == "latin-1":
            text = f"# -*- coding: latin-1 -*-\n# é\n{text}"
        if encoding == "tabs":
            text, encoding = text.replace("    ", "\t"), "utf-8"
        (folder / "train.py").write_bytes(
            text.encode(encoding, "surrogatepass" if "utf" in encoding else "replace")
        )
        (folder / "table.txt").write_text("1 2 3\n")


def program(rng: Random, ledger: Path, mark: str) -> Program:
    """A program that is hostile in one way, or in none."""
    form = rng.choice(("function", "command", "command", "script"))
    way = rng.choice(
        (
            "harmless",
            "harmless",
            "fatal",
            "doubtful",
            "doubtful",
            "values" if form == "function" else "syntax",
        )
    )
    if form == "command" and way == "syntax":
        way = "harmless"
    condition = rng.choice(("True", "seed == 1", "x > 0.15", "seed == 0 and x < 0.15"))
    token = rng.choice(TOKENS)
    kinds = {"harmless": HARMLESS, "fatal": WITHOUT_NUMBER, "doubtful": DOUBTFUL}.get(way, {"": "pass"})
    name = rng.choice(sorted(kinds))
    act = kinds[name].replace("{mark}", mark).replace("{{", "{").replace("}}", "}")
    if "place" in act:
        act = f"place = os.environ['ABLATE_DIR']; {act}"
    # What prints other numbers must come before the one that counts.
    late = rng.random() < 0.3 and way == "harmless" and "loss" not in act
    constants = "Y = 0.5\nZ = 1\nX = 0.1\nSEED = 0"
    if way == "values":
        name = rng.choice(VALUES)
        token = f"{name.replace('{{', '{').replace('}}', '}')} if {condition} else {token}"
    if way == "syntax":
        name = rng.choice(SYNTAX)
        constants = f"Y = 0.5\nZ = 1\n{name.format(x=0.1)}\nSEED = 0"
    indent = "    " * (2 if form == "function" else 1)
    body = {"function": FUNCTION, "command": COMMAND, "script": SCRIPT}[form]
    text = BASE.format(first="", ledger=str(ledger)) + body.format(
        token=token,
        condition=condition,
        before=indent + (act if not late or form == "function" else "pass"),
        after=indent + (act if late else "pass"),
        constants=constants,
    )
    encoding = rng.choice(ENCODINGS) if form == "script" else "utf-8"
    return Program(form, way, name, condition, text, encoding)
