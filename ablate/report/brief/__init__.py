"""The sections that the terminal shows as well; their modules import neither pandas nor matplotlib."""
