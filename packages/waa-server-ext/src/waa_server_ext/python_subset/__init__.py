"""An interpreter of a subset of Python, for programs sent to a VM that is not real.

It accepts an allow-list of syntax, types and methods; nothing is imported, and programs reach no
objects of this process except those they are given.
"""
