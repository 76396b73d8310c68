"""Runs that are still being written: followed on the terminal, and served as a page that renews itself."""
