"""Compare a judge with human labels, and choose the cases to label."""
