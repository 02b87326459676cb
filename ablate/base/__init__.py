"""Without a subject: errors, registry, plugins, streams, files, locks, numbers as words, time."""
