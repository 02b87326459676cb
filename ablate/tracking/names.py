"""Names and texts as MLflow accepts them."""

import posixpath
import re
from collections.abc import Mapping

from ablate.base.text import printable

# Limits of MLflow's tracking stores, in characters.
MAX_KEY = 250
MAX_PARAM = 6000
MAX_TAG = 8000
# The most that MLflow takes in one request: parameters, metrics and tags, and parameters alone.
MAX_BATCH = 1000
MAX_BATCH_PARAMS = 100
# The group of all curves, which MLflow shows before metrics without a group.
CURVES = "Curves"


def cleaned(values: Mapping[str, object], limit: int) -> dict[str, str]:
    """Returns names and values that MLflow accepts; values are cut to `limit` characters, and None is left out."""
    return {
        clean_key(key): cut(printable(str(value)), limit)
        for key, value in values.items()
        if value is not None
    }


def clean_key(name: str) -> str:
    """Returns a name that MLflow accepts: `accuracy@far` is shown as `accuracy/far`, in a group of its own.

    >>> clean_key("accuracy@far"), clean_key("../loss (train)")
    ('accuracy/far', 'loss _train_')
    """
    key = re.sub(r"[^\w.\-/ ]", "_", name.replace("@", "/"))[:MAX_KEY]
    return posixpath.normpath("/" + key).lstrip("/") or "_"


def cut(text: str, limit: int) -> str:
    """Returns the whole lines of `text` that fit into `limit` characters."""
    if len(text) <= limit:
        return text
    head = text[: limit - 2]
    whole_lines, _, _ = head.rpartition("\n")
    return f"{whole_lines or head}\n…"
