"""From checked answers to a verdict, and the uses of verdicts."""
