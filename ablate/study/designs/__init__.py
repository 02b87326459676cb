"""From a baseline and its factors to variants: one design a file, found by package scan."""
