"""The evidence of a study: its records, what stages measure, and what limits it."""
