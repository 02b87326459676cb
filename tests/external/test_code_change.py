"""The diff between the frozen code of finished trials and the code of a repository."""

from pathlib import Path

import pytest

from ablate.external.code_change import diff
from ablate.external.frozen import freeze
from ablate.external.tree import read_tree


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "repository"
    for path in ("train.py", "nets/small/net.py", "nets/large/net.py", "run.sh"):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(f"# {path}\n")
    (root / "net.py").symlink_to("nets/small/net.py")
    (root / "net").symlink_to("nets/../nets/small")
    return root


def changed(root: Path, earlier: Path) -> str:
    return diff(earlier, read_tree(root))


def test_what_has_not_changed_is_not_shown(root, tmp_path):
    earlier = freeze(read_tree(root), tmp_path / "code")
    assert changed(root, earlier) == ""
    (root / "train.py").write_text("# other\n")
    shown = changed(root, earlier)
    assert "-# train.py\n+# other" in shown
    assert "net" not in shown


@pytest.mark.parametrize("link", ["net.py", "net"])
def test_a_link_that_leads_elsewhere_is_shown(link, root, tmp_path):
    earlier = freeze(read_tree(root), tmp_path / "code")
    target = "nets/large" if link == "net" else "nets/large/net.py"
    (root / link).unlink()
    (root / link).symlink_to(target)
    assert f"+link to {target}" in changed(root, earlier)


def test_a_link_in_place_of_a_file_and_the_right_to_execute_are_shown(root, tmp_path):
    earlier = freeze(read_tree(root), tmp_path / "code")
    before = read_tree(root).identity
    (root / "run.sh").chmod(0o755)
    assert read_tree(root).identity != before
    assert changed(root, earlier) == "  run.sh: now executable"
    (root / "run.sh").chmod(0o644)
    (root / "train.py").unlink()
    (root / "train.py").symlink_to("run.sh")
    assert "-# train.py\n+link to run.sh" in changed(root, earlier)
