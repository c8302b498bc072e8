"""Studies that run on a platform: their tasks as its files, and its files as what was collected."""
