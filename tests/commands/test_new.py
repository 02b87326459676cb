"""`ablate new`: a study that is valid as it is written, and says what its settings mean."""

import pytest
from harness import ablate_here, prepare

from ablate.base.errors import AblateError
from ablate.base.registry import CATALOGUE
from ablate.commands.templates.study import SCHEMA, SMALL, create, study_text
from ablate.study.document import read_document
from ablate.study.patch import apply_patches
from ablate.study.schema import config_model


def tasks() -> list[str]:
    CATALOGUE.load_builtin()
    found = {name: CATALOGUE.get("task", name) for name in CATALOGUE.names("task")}
    own = {name: part for name, part in found.items() if part.__module__.startswith("ablate.")}
    return [name for name, part in own.items() if "file" not in part.Config.model_fields]


@pytest.mark.slow
@pytest.mark.parametrize("task", tasks())
def test_it_is_valid_and_compares_what_it_says_with_the_defaults(task, tmp_path):
    path = create(tmp_path / "mine", task)
    assert path == tmp_path / "mine.yaml"
    experiment = prepare(path)
    names = [variant.name for variant in experiment.variants]
    assert names == ["baseline", "model.position=none", "model.mixer.score=additive"]
    assert (experiment.config.name, len(experiment.claims)) == ("mine", 2)
    defaults = config_model(experiment.workload).model_validate({"task": task}).model_dump()
    topology = {"model.topology": experiment.variants[0].first_config["model"]["topology"]}
    assert experiment.variants[0].configs == {task: apply_patches(defaults, SMALL | topology)}


def test_every_setting_stands_there_with_its_meaning(tmp_path):
    path = create(tmp_path / "mine", "recall")
    words = " ".join(path.read_text().replace("#", " ").split())
    # What stands there commented out is what YAML reads without it.
    data = read_document(path).data
    assert "d_k" not in data["model"]["mixer"]
    assert data["factors"] == {"model.position": ["none"], "model.mixer.score": ["additive"]}
    experiment = prepare(path)
    for section in ("model", "training"):
        for name, field in experiment.workload.schema()[section][0].model_fields.items():
            assert f"{name}:" in words
            assert " ".join(field.description.split()) in words
    assert "Peak learning rate. Default: 0.001." in words
    assert max(map(len, path.read_text().splitlines())) <= 110


@pytest.mark.slow
def test_the_hints_in_comments_are_valid_too(tmp_path):
    path = create(tmp_path / "mine", "recall")
    text = path.read_text()
    for hint in ("model.mixer.value: ", "model.num_layers: "):
        assert f"  # {hint}" in text
        text = text.replace(f"  # {hint}", f"  {hint}")
    path.write_text(text.replace("# time_limit", "time_limit").replace("# checkpoint", "checkpoint"))
    experiment = prepare(path)
    assert {"model.mixer.value=low_rank", "model.num_layers=4"} <= {v.name for v in experiment.variants}
    assert experiment.config.time_limit == 600
    assert experiment.config.checkpoint == "final"


def test_it_points_editors_to_a_schema_that_is_there_whatever_its_name(tmp_path):
    hint = f"# yaml-language-server: $schema={SCHEMA}"
    assert create(tmp_path / "without", "recall").read_text().splitlines()[0] != hint
    (tmp_path / SCHEMA).write_text("{}")
    assert create(tmp_path / "with", "recall").read_text().splitlines()[0] == hint
    a, b = (study_text(name, "recall", False) for name in "ab")
    assert a == b.replace("name: b\n", "name: a\n")


def test_on_the_command_line(tmp_path):
    done = ablate_here("new", "mine.yaml", "--task", "digits", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "Wrote mine.yaml. Edit it to ask your question, then run: ablate plan mine.yaml\n"


def test_a_file_is_never_replaced(tmp_path):
    """Not even by way of a link that leads nowhere yet."""
    (tmp_path / "mine.yaml").symlink_to(tmp_path / "other")
    with pytest.raises(AblateError, match=r"mine\.yaml: cannot be written"):
        create(tmp_path / "mine", "recall")
    assert not (tmp_path / "other").exists()


REVIEWS = "\n".join(f"{n % 3};{'very ' * (n % 5)}good film {n};{n}" for n in range(120))
CARS = "\n".join(f"{n % 7},{n * 2.5},{'abc'[n % 3]} {n % 5}" for n in range(600))
PROSE = "\n\n".join(f"{n} and {n * n % 97}, so it goes;\nbut {n * n % 89} is not {n}." for n in range(400))


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize(
    ("file", "content", "task", "known", "found"),
    [
        (
            "a.csv",
            f"Class;Review;Id\n{REVIEWS}",
            None,
            "text_classification",
            {"text": "Review", "label": "Class"},
        ),
        ("a.csv", f"doors,price,make\n{CARS}", None, "table", {"target": "make"}),
        ("a.csv", f"Class;Review;Id\n{REVIEWS}", "table", "table", {"target": "Class"}),
        (
            "a.tsv",
            f"Class;Review;Id\n{REVIEWS}".replace(";", "\t"),
            None,
            "text_classification",
            {"label": "Class"},
        ),
        (
            "a.tsv",
            "\n".join(f"{n} a\t{n + 1} b" for n in range(400)),
            None,
            "text_pairs",
            {"unit": "characters"},
        ),
        ("a.txt", PROSE, None, "text_file", {"seq_len": 32}),
    ],
)
def test_a_study_of_a_file_reads_it_with_the_task_that_it_looks_like(
    file, content, task, known, found, tmp_path
):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / file).write_text(content)
    call = ["new", "--from", f"data/{file}", *(["--task", task] if task else [])]
    done = ablate_here(*call, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    config = prepare(tmp_path / "a.yaml").variants[0].first_config
    assert config["task"]["name"] == known
    assert {key: config["task"][key] for key in found} == found
    assert config["task"]["file"] == str(tmp_path / "data" / file)
    topology = config["model"]["topology"]["name"]
    assert topology == CATALOGUE.get("task", known).topologies[0]


def test_a_file_that_exists_keeps_its_content(tmp_path):
    (tmp_path / "mine.yaml").write_text("name: mine\n")
    done = ablate_here("new", "mine", cwd=tmp_path)
    assert done.returncode == 2
    assert (tmp_path / "mine.yaml").read_text() == "name: mine\n"
