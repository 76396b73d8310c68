"""The version of waa-server-ext, the only place it is written."""

__version__ = "0.1.0"
