"""Files for papers and other tools."""
