"""Tables of reports."""
