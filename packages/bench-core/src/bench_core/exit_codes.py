"""What the exit codes of every command mean."""

from __future__ import annotations

__all__ = ["ABORTED", "FELL_SHORT", "INTERRUPTED", "OK", "UNDECIDED", "USAGE"]

OK = 0
"""The command did what was asked."""
FELL_SHORT = 1
"""It ran, but the thing asked for fell short: trials without a result, a failed check."""
USAGE = 2
"""An option, a file or an id cannot be used."""
UNDECIDED = 3
"""A judge abstained or a gate had too little evidence."""
ABORTED = 75
"""The run stopped itself because a trial blocked it; the same command continues it."""
INTERRUPTED = 130
"""Ctrl-C or SIGTERM; the same command continues the run."""
