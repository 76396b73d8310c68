"""Runs against each other: what may be compared, paired differences, the regression gate, ranks, designs."""
