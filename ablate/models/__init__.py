"""From parts to models."""
