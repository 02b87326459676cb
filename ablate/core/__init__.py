"""The nouns: values as dataclasses, contracts as protocols or bases. Imports `base` and nothing else."""
