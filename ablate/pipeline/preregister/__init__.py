"""The dated plan of a study: its claims, and what was seen before it."""
