"""Earlier analyses of the same runs, and what a call leaves out."""
