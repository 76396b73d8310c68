"""The parts of agents that are particular to Multi-REAL: instructions and reference solutions."""
