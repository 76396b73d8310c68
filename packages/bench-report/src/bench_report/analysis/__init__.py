"""What a report concludes from its runs: caveats, methods, how trials were evaluated, variants of the rate."""
