"""What the official evaluator accepts: end states of the tasks made wrong, or harmlessly different."""
