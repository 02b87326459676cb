"""The page of an atlas: how much of it repeats, its claims as one figure, a card a study, and what was not trained."""
