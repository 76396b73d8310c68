"""The version of bench-report, the only place it is written."""

__version__ = "0.1.0"
