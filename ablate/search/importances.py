"""Stands until the helper's arrives."""

from typing import Any


def importances(searched: Any) -> Any:
    import pandas as pd

    return pd.DataFrame()
