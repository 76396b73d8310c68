"""Runs to and from the formats of other tools: Inspect's EvalLog, ATIF trajectories."""
