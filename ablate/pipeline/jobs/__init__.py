"""Trials as jobs of any scheduler: each is trained alone, and the next run adopts it."""
