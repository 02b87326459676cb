"""All kinds of attack, and how many cases of each a whole campaign has."""

from __future__ import annotations

from .case import Kind
from .clocks import clocks
from .crowds import crowds
from .damage import damage
from .disks import disks
from .kills import kills
from .mutations import mutations, thought_out
from .namespaces import namespaces
from .sets import sets

KINDS = {
    kind.name: kind
    for kind in (
        Kind("mutations", mutations, 950),
        Kind("thought_out", thought_out, 50),
        Kind("sets", sets, 200),
        Kind("kills", kills, 50),  # of two kills each
        Kind("damage", damage, 200),
        Kind("crowds", crowds, 6),
        Kind("disks", disks, 20),
        Kind("namespaces", namespaces, 6),
        Kind("clocks", clocks, 10),
    )
}
