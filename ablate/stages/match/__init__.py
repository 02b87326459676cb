"""`match:` gives every variant as much of one quantity as the baseline has, by changing the value at one path."""
