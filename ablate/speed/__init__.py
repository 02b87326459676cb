"""How fast configs are, measured beside one another on an idle machine."""
