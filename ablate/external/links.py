"""Links of the code that lead out of its repository, to data, as if the study named them."""

import os
from pathlib import Path

from ablate.external.tree import Tree


def links_out(tree: Tree) -> dict[str, Path]:
    """Returns path → target of the links of a tree that lead out of its root, to nothing, a file or a folder."""
    places: dict[str, Path] = {}
    for path, file in tree.files.items():
        if not file.is_link:
            continue
        place = place_of(tree.root / path)
        if place.is_relative_to(tree.root):
            continue
        if not os.path.exists(place) or os.path.isfile(place) or os.path.isdir(place):
            places[path] = place
    return places


def place_of(link: Path) -> Path:
    """Returns the place to which a link points, itself perhaps a link."""
    return Path(os.path.normpath(link.parent / os.readlink(link)))
