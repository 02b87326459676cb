"""`ablate compare` and `ablate gate`: the user's training code at two commits, judged."""
