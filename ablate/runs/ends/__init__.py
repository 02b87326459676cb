"""The ends of runs, read from columns of tables, from files in their folders, and from accounts of schedulers."""
