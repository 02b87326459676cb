"""What a command does, stage by stage: functions from values to values."""
