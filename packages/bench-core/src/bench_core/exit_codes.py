"""What the exit codes of every command mean."""

from __future__ import annotations

__all__ = ["ABORTED", "CRASHED", "FELL_SHORT", "INTERRUPTED", "OK", "UNDECIDED", "USAGE"]

OK = 0
"""The command did what was asked."""
FELL_SHORT = 1
"""It ran, but the thing asked for fell short: trials without a result, a failed check."""
USAGE = 2
"""An option, a file or an id cannot be used; a file cannot be read or written."""
UNDECIDED = 3
"""A judge abstained, a gate had too little evidence, or what was to be checked could not be reached."""
CRASHED = 70
"""A fault of ours, shown with its traceback: it says nothing of what was asked."""
ABORTED = 75
"""The run stopped itself: a trial blocked it, or what its trials need is out of order; the same command
continues it."""
INTERRUPTED = 130
"""Ctrl-C, SIGTERM or SIGHUP; the same command continues the run."""
