"""The version of multireal-harness, the only place it is written."""

__version__ = "0.1.0"
