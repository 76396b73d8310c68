"""Compare a judge with human labels, and choose what to label."""
