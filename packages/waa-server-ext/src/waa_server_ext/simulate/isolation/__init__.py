"""Programs of the simulated desktop in a process of their own, under limits."""
