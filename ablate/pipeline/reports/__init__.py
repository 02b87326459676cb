"""The folder of a report: its place, what is in it, and whether it is up to date."""
