"""What to run: the study file, its design, its claims and the plan. Imports no torch."""
