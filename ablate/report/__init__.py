"""Figure data, figures, tables and the page."""
