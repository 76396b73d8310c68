"""An interpreter of a subset of Python, for programs that were sent to a VM that is not real.

It knows an allow-list of syntax, types and methods; nothing is imported and no object of this process
is reachable but those that it is given.
"""
