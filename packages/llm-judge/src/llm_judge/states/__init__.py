"""The JSON end state: where things stand in it, and what a run changed."""
