"""How runs ended, by their columns, by their folders and by what schedulers keep."""
