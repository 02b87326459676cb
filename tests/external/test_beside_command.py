"""What a command names beside the code and data of its study."""

from ablate.external.beside import documents_named


def test_documents_are_those_that_a_command_or_its_scripts_name_below_the_folder(tmp_path):
    folder = tmp_path / "own"
    (folder / "docs").mkdir(parents=True)
    for name in ("prompt.md", "docs/b.txt.md", "README.md", "../out.md"):
        (folder / name).write_text("x")
    script = folder / "run.sh"
    script.write_text("cat prompt.md /README.md ../out.md | python train.py\n")
    words = ["bash", "run.sh", "--also=docs/b.txt.md", f"--out={tmp_path}/out.md"]
    assert documents_named([script], words, folder) == [folder / "docs/b.txt.md", folder / "prompt.md"]
    assert documents_named([], [f"{folder}/README.md"], folder) == [folder / "README.md"]
