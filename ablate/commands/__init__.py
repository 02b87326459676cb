"""One file a command: what it reads, which stages it runs, what it prints."""
