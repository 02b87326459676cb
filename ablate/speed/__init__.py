"""How fast configs train, measured beside one another on an idle machine."""
