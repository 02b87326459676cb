"""The sections of a report, one file each; they are found here, and named nowhere else."""
