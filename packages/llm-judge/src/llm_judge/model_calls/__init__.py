"""One call to a model: its cost, its budget, its reply."""
