"""Audits of the official evaluator with end states of tasks made wrong, or harmlessly different."""
