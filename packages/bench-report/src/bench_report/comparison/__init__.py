"""Runs against each other: comparability, paired differences, the regression gate, ranks, designs."""
