"""Records: the store of trials, the folder of a study, its list of trials."""
