"""The requests to a model, and the form of its answers."""
