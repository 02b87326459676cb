"""The study: its file, design, claims and plan. Imports no torch."""
