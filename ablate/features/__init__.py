"""Capabilities that a study or a user may ask for, a folder each; see `core.feature`."""
