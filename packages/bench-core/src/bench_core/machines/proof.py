"""Whether a reset brought a machine back: by what it says itself, before and after."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bench_core.machines.records import Health

__all__ = ["why_unclean"]


def why_unclean(
    before: Health, after: Health, *, mark: str | None, saved: str, begins_anew: bool
) -> str | None:
    """Return why a machine is not proven clean after a reset; None where it is.

    Four things have to hold: it is healthy, it shows the digest that was saved, the mark that was
    left just before the reset is gone, and where a reset begins anew, another instance answers.

    Args:
        before: How it was before the reset.
        after: How it is now.
        mark: What was left on it before the reset; None where it could not be left.
        saved: The digest of the saved state.
        begins_anew: Whether the provider ends the old instance.
    """
    if not after.ok:
        return f"it is not healthy after the reset: {after.reason}"
    if after.state != saved:
        return f"its state is {after.state[:12] or 'unknown'}, and {saved[:12]} was saved"
    if mark is not None and after.soiled == mark:
        return "what was written before the reset is still there"
    if begins_anew and after.instance == before.instance:
        return "the instance from before the reset still runs"
    if mark is None and not begins_anew:
        # A machine that a reset never reached would look the same.
        return "nothing could be written to it before the reset, so nothing shows that it was reset"
    return None
