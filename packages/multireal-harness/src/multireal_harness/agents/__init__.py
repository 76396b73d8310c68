"""What agents need on Multi-REAL: what to be told, and the reference solutions."""
