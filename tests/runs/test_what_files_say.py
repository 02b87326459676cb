"""Folders of tables: what a file says itself counts more than its name."""

import json

import pytest

from ablate.base.errors import Invalid
from ablate.runs.options import AnalysisOptions
from ablate.runs.reading import read
from ablate.runs.shape_in_words import shape_of

ACC = {"a": [0.81, 0.85, 0.83, 0.88], "b": [0.91, 0.95, 0.93, 0.98]}
OPTIONS = AnalysisOptions(baseline="a", metric="acc")


def written(tmp_path, documents):
    folder = tmp_path / "runs"
    folder.mkdir()
    for name, document in documents.items():
        (folder / f"{name}.json").write_text(json.dumps(document))
    return str(folder)


def values(table):
    """Variant → seed → its number, the same in all tasks."""
    found = {}
    for row in table.rows.itertuples():
        of_variant = found.setdefault(row.variant, {})
        assert of_variant.setdefault(str(row.seed), float(row.acc)) == float(row.acc)
    assert not table.rows.duplicated(["variant", "task", "seed"]).any()
    return found


EXPECTED = {variant: {str(seed): x for seed, x in enumerate(of)} for variant, of in ACC.items()}


def by_run(name_of, document_of):
    """A document for each run; its name has another number than its seed."""
    documents = {}
    for variant, of in ACC.items():
        for seed, acc in enumerate(of):
            number = seed if variant == "a" else 3 - seed
            documents[name_of(variant, number)] = document_of(variant, seed, acc)
    return documents


def seed_beside(variant, seed, acc):
    return {"seed": seed, "results": [{"task": "pan", "acc": acc}, {"task": "mail", "acc": acc}]}


FOLDERS = {
    "a seed in the name": by_run(lambda v, n: f"{v}_run{n}", seed_beside),
    "a number in the name": by_run(lambda v, n: f"{v}_{n}", seed_beside),
    "a seed in the rows": by_run(lambda v, n: f"{v}_seed{n}", lambda v, s, acc: [{"seed": s, "acc": acc}]),
    "variants in the files": by_run(
        lambda v, n: str(10 * (v == "b") + n),
        lambda v, s, acc: {"seed": s, "method": v, "evals": [{"acc": acc, "loss": 1}]},
    ),
    "a file a seed": {
        f"run_{3 - s}": {"seed": s, "results": [{"method": v, "acc": ACC[v][s]} for v in ACC]}
        for s in range(4)
    },
    "one seed of all data": {
        f"{v}_s{s}": {"seed": 42, "results": [{"acc": acc}]} for v in ACC for s, acc in enumerate(ACC[v])
    },
}


@pytest.mark.parametrize("folder", FOLDERS)
def test_the_seed_of_a_file_counts_more_than_its_name(folder, tmp_path):
    table = read(written(tmp_path, FOLDERS[folder]), OPTIONS)
    assert values(table) == EXPECTED
    said = "Seeds are those that files say themselves" in " ".join(table.notes)
    assert said == (folder not in ("variants in the files", "one seed of all data"))


def test_names_of_variants_in_files_are_such(tmp_path):
    documents = {
        f"method_{v}": {
            "model_name": v,
            "mean_acc": 0.5,
            "runs": [{"seed": s, "acc": x} for s, x in enumerate(of)],
        }
        for v, of in ACC.items()
    }
    table = read(written(tmp_path, documents), OPTIONS)
    assert values(table) == EXPECTED
    assert "mean_acc" in " ".join(table.notes)


@pytest.mark.slow
def test_a_file_that_says_another_variant_than_its_name_is_refused(tmp_path):
    documents = {
        v: {"model": {"a": "b", "b": "a"}[v], "runs": [{"seed": s, "acc": x} for s, x in enumerate(of)]}
        for v, of in ACC.items()
    }
    runs = written(tmp_path, documents)
    with pytest.raises(Invalid, match="another model than their names"):
        read(runs, OPTIONS)
    by_name = AnalysisOptions(baseline="a", metric="acc", column={"variant": "file"})
    assert values(read(runs, by_name)) == EXPECTED
    by_model = AnalysisOptions(baseline="a", metric="acc", column={"variant": "model"})
    assert values(read(runs, by_model)) == {"a": EXPECTED["b"], "b": EXPECTED["a"]}


def test_a_number_beside_parts_of_a_run_is_its_own(tmp_path):
    documents = by_run(
        lambda v, n: f"{v}_seed{n}", lambda v, s, acc: {"seed": s, "acc": acc, "layers": [{"w": 1}, {"w": 2}]}
    )
    assert values(read(written(tmp_path, documents), OPTIONS)) == EXPECTED


@pytest.mark.parametrize("name", ["{}/{}/report.json", "{}/run_{}/report.json"])
def test_the_seed_of_a_report_counts_more_than_the_name_of_its_folder(name, tmp_path):
    for path, document in by_run(name.format, lambda v, s, acc: {"seed": s, "acc": acc}).items():
        file = tmp_path / "runs" / path
        file.parent.mkdir(parents=True)
        file.write_text(json.dumps(document))
    table = read(str(tmp_path / "runs"), OPTIONS)
    assert values(table) == EXPECTED
    assert "are others" in " ".join(table.notes)


def test_a_summary_beside_folders_of_reports_is_passed_over(tmp_path):
    for variant, of in ACC.items():
        for seed, acc in enumerate(of):
            file = tmp_path / "runs" / variant / str(seed) / "report.json"
            file.parent.mkdir(parents=True)
            file.write_text(json.dumps({"acc": acc}))
    (tmp_path / "runs" / "summary.json").write_text(json.dumps({"a": 0.1, "b": 0.2}))
    table = read(str(tmp_path / "runs"), OPTIONS)
    assert values(table) == EXPECTED
    assert "Passed over" in " ".join(table.notes)


def test_tasks_are_counted_beside_seeds(tmp_path):
    documents = by_run(lambda v, n: f"{v}_run{n}", seed_beside)
    assert shape_of(read(written(tmp_path, documents), OPTIONS)) == "16 runs, 2 × 4 seeds × 2 tasks"
