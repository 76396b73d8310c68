"""WAA's own server under Wine: what it answers, and whether the simulated desktop answers the same."""
