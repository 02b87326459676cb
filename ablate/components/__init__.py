"""Swappable parts, one family a file."""
