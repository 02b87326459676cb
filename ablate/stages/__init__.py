"""The stages of a command: functions from values to values."""
