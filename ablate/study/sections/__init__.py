"""The sections of a study file, one torch-free file each."""
