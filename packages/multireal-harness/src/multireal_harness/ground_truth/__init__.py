"""Ground truth, end states of which it is known whether the task was done: generation and validation."""
