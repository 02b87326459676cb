"""A command at commits of a repository: what `compare` and `gate` share."""
