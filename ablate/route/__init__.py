"""The route: functions from values to values, from a file to a report."""
