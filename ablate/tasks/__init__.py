"""Tasks, one a file, behind the protocol of `ablate.tasks.task`."""
