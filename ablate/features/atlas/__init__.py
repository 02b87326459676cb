"""`ablate atlas`: the claims of many studies on one page, with what repeating them confirmed."""
