"""Sentences of reports: which of them are said, and with what; their words are in `report/words`."""
