"""From checked answers to a verdict, and what is done with verdicts."""
