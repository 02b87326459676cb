"""One file a command: what it reads, which steps of the pipeline it takes, what it prints."""
