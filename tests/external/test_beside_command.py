"""What a command names beside the code and data of its study."""

from ablate.external.beside import documents_named, variables_of_scripts


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


def test_variables_are_those_that_scripts_read_and_the_scripts_that_they_name(tmp_path):
    (tmp_path / "conf").mkdir()
    scripts = {
        "run.sh": 'HERE=$(dirname "$0")\nsource conf/env.sh\n. "$HERE/more.sh"\npython train.py $WIDTH\n',
        "conf/env.sh": "export DEPTH=${DEPTH:-2}\nbash run.sh\n",
        "more.sh": "echo $RATE\n",
        "other.sh": "echo $UNREAD\n",
    }
    for name, text in scripts.items():
        (tmp_path / name).write_text(text)
    found = variables_of_scripts([tmp_path / "run.sh"], ["bash", "run.sh"], tmp_path)
    assert found == {"WIDTH", "DEPTH", "RATE"}
