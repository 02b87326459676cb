"""The differences between two reports."""
