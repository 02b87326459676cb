"""`ablate analyse`: verdicts on runs that exist, whoever made them, by the same judge and in the same report."""
