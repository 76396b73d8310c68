"""Criteria as small typed assertions that code decides, the same way on every trial."""
