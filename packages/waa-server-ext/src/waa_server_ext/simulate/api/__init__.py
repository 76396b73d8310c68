"""The HTTP API of WAA's VM over a simulated desktop."""
