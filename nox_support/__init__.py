"""What the noxfile needs: the standard library is enough for all but `installing`, which needs nox."""

from __future__ import annotations
