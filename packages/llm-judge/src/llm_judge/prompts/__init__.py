"""What a model is sent, and the form its answer must have."""
