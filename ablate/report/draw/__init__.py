"""How figures are drawn: their style, and what several of them share."""
