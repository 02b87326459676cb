"""One file a command: what it reads, which steps of the route it takes, what it prints."""
