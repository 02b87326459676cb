"""The section of this feature."""
