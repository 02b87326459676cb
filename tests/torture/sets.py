"""Values for `--set`."""

import json
from random import Random

from .case import Place
from .mutations import names
from .studies import STUDIES, TUNED_SEQUENCE
from .values import ODD, at, nodes, tweaked

TEXTS = (
    *("&a [*a]", "&a {b: *a}", "*a", "!!bool maybe", "!!int x", "!!float .", "!x y"),
    *("!!python/name:os.system", "!!binary x"),
    *("[", "{", "'", '"', "{a: 1, a: 2}", "? a", "- a", "a: b: c", "%TAG", "---", "...", "@", "`", "|"),
    *(">", "#", "<<", "\t"),
    *("[" * 2000, "{a: " * 500, "[&a [x], " + "*a, " * 5000 + "]", "{<<: {a: 1}}", "2026-13-45", "0o9"),
    *("1e999", "-.inf", ".nan"),
    *("9" * 5000, "1" + "0" * 400, "\x00", "\x1b[2J", "\u202e", "é", "{}", "[]", "null", "~", "''", "0"),
    *("-1", "1e400"),
    *(
        "[&a0 [x, x, x, x, x, x, x, x, x], "
        + ", ".join(f"&a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 10))
        + "]",
    ),
    *("[&a0 {x: 1}, " + ", ".join(f"&a{i} {{x: *a{i - 1}}}" for i in range(1, 400)) + "]",),
)
PATHS = (
    *("", ".", "..", "a", "a.b", "model", "model.", ".model", "model..norm", "factors", "variants"),
    *("variants.a", "seeds.from", "model.norm.name", "task", "tasks.0.name", "claims[0]", "claims.0"),
    *("plugins", "workload", "name", "metric.margin", "training." + "x." * 500, "model.mixer[0]", "\x00"),
    *("model.\u202e", "a" * 5000, "search.trials", "search.storage", "notes"),
)


def sets(rng: Random, place: Place) -> str:
    """One to three values for `--set` on a study that is valid without them."""
    study = rng.choice([study.text for study in STUDIES.values()] + [TUNED_SEQUENCE])
    STUDIES["run"].write(place.path)
    (place.path / "study.yaml").write_text(study)
    arguments = []
    for _ in range(rng.choice((1, 1, 2, 3))):
        text = _gentle(rng, study) if rng.random() < 0.3 else f"{_path(rng, study)}={_value(rng)}"
        if rng.random() < 0.05:
            text = text.replace("=", rng.choice(("", "==", " = ", ":")), 1)
        # No program can be given a NUL.
        arguments += ["--set", text.replace("\0", "")]
    done = place.ablate("plan", "study.yaml", *arguments, limit=30)
    return "refused" if done.code != 0 else "accepted"


def _gentle(rng: Random, study: str) -> str:
    """Another value of the same type."""
    from ruamel.yaml import YAML

    tree = YAML(typ="safe", pure=True).load(study)
    path = rng.choice([path for path in nodes(tree) if not any(isinstance(key, int) for key in path)])
    return f"{'.'.join(map(str, path))}={json.dumps(tweaked(rng, at(tree, path)))}"


def _path(rng: Random, study: str) -> str:
    from ruamel.yaml import YAML

    if rng.random() < 0.25:
        return rng.choice(PATHS)
    tree = YAML(typ="safe", pure=True).load(study)
    path = [*map(str, rng.choice(list(nodes(tree))))]
    if rng.random() < 0.15:
        path.append(rng.choice(names()))
    return ".".join(path)


def _value(rng: Random) -> str:
    match rng.choice(("text", "text", "odd", "odd", "name", "number")):
        case "text":
            return rng.choice(TEXTS)
        case "odd":
            return json.dumps(rng.choice(ODD))[:100_000]
        case "name":
            return rng.choice(names())
        case _:
            return repr(
                rng.choice(
                    (
                        rng.randint(-5, 5),
                        rng.uniform(-2, 2),
                        10 ** rng.randint(0, 40),
                        10.0 ** -rng.randint(0, 320),
                    )
                )
            )
