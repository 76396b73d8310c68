"""What the noxfile needs and what is worth testing apart from nox: stdlib only."""

from __future__ import annotations
