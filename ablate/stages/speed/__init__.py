"""`speed:` and `ablate bench`: the variants timed beside one another, on an idle machine (METHODS §7)."""
