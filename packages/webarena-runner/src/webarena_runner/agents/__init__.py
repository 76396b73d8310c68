"""The parts of agents that are particular to WebArena-Verified: instructions and answer format."""
