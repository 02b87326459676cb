"""From trials to records: the driver and its pool of workers."""
