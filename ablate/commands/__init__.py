"""The commands, a file each: what a command reads, which steps of the pipeline it takes, what it prints."""
