"""`CITATION.cff` says of the package what the package says of itself."""

import tomllib
from pathlib import Path

from ruamel.yaml import YAML

ROOT = Path(__file__).parents[1]


def test_the_citation_is_of_this_version_and_licence():
    citation = YAML(typ="safe").load(ROOT / "CITATION.cff")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert (citation["cff-version"], citation["type"]) == ("1.2.0", "software")
    assert citation["authors"] == [{"name": "ablate contributors"}]
    assert (citation["version"], citation["license"]) == (project["version"], project["license"])
    assert citation["title"] in (ROOT / "ablate/commands/pages/cite.md").read_text()
    assert "results/atlas/claims.csv" in citation["message"]
