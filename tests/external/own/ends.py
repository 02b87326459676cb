GAP = 0.1
