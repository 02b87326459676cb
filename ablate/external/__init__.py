"""A user's own training code: a function, a command or a script, run for each trial as it is."""
