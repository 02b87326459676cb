"""The command of this feature."""
