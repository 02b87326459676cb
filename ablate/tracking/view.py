"""The table of runs as MLflow shows it at first under the address that `ablate ui` prints.

MLflow keeps the columns of a table in the browser. A view that is shared is kept in a tag of the experiment, and its
key is part of the address.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from ablate.tracking.content import clean_key

VIEW_TAG = "mlflow.sharedViewState."
"""Followed by the key of the view."""
VIEW = "ablate"
PARAMS = ("variant", "seed")


def view_of(metrics: Sequence[str]) -> str:
    """The value of the tag: a view with these metrics as columns, beside variant and seed."""
    columns = [("params", name) for name in PARAMS] + [("metrics", clean_key(name)) for name in metrics]
    return json.dumps({"selectedColumns": [f"{kind}.`{name}`" for kind, name in columns]})
