"""A report's conclusions from its runs: caveats, methods, evaluation of trials, variants of the rate."""
