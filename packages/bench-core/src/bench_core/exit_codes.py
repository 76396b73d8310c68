"""The meaning of every command's exit codes."""

from __future__ import annotations

__all__ = ["ABORTED", "CRASHED", "FELL_SHORT", "INTERRUPTED", "OK", "UNDECIDED", "USAGE"]

OK = 0
"""The command did its work."""
FELL_SHORT = 1
"""It ran, but the thing asked for fell short: trials without a result, a failed check."""
USAGE = 2
"""An option, a file or an id cannot be used; a file cannot be read or written."""
UNDECIDED = 3
"""A judge abstained, a gate had too little evidence, or the object of a check could not be reached."""
CRASHED = 70
"""A fault of ours, shown with its traceback; the subject of the command remains undecided."""
ABORTED = 75
"""The run stopped itself: a trial blocked it, or a resource of its trials is out of order; the same command
continues it."""
INTERRUPTED = 130
"""Ctrl-C, SIGTERM or SIGHUP; the same command continues the run."""
