"""The JSON end state: places in it, and a run's changes to it."""
