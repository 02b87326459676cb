"""`ablate compare`: one's own training code at two commits, judged."""
