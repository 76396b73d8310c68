"""What agents need on WebArena-Verified: how an answer is declared, and what to be told."""
