"""The apps of the simulated desktop; each module is one, and `catalogue` lists them."""
