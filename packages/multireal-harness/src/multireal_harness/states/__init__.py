"""End states: capture, files, comparison, and checks whether they look like those of one run."""
