"""Features hang on the route: no room imports one, and none imports another."""

import ast

from test_imports import ROOT, graph

FEATURES = ROOT / "features"


def test_no_room_imports_a_feature_and_no_feature_another():
    for module, others in graph().items():
        own = ".".join(module.split(".")[:3]) if module.startswith("ablate.features.") else None
        for other in others:
            if other.startswith("ablate.features."):
                assert own is not None, f"{module} imports {other}"
                assert f"{other}.".startswith(f"{own}."), f"{module} imports {other}"


def test_the_package_of_features_is_named_once():
    """As a string, by which an import could be hidden."""
    named = [
        path.relative_to(ROOT).as_posix()
        for path in ROOT.rglob("*.py")
        if FEATURES not in path.parents
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and node.value == "ablate.features"
    ]
    assert named == ["core/feature.py"]
