"""Proof that a reset restored a machine, from its own reports before and after."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bench_core.machines.records import Health


def why_unclean(
    after: Health, *, mark: str | None, saved: str, instances: tuple[str, str] | None
) -> str | None:
    """Return why a machine is not proven clean after a reset; None if it is.

    Four things have to hold: it is healthy, it reports the saved digest, the mark that was
    left just before the reset is gone, and, if resets start a new instance, another instance answers.

    Args:
        after: Its health now.
        mark: The mark left on it before the reset; None if none could be left.
        saved: The digest of the saved state.
        instances: Instances before and after the reset; None if a reset ends none.
    """
    if not after.ok:
        return f"it is not healthy after the reset: {after.reason}"
    if after.state != saved:
        return f"its state is {after.state[:12] or 'unknown'}, and {saved[:12]} was saved"
    if mark is not None and after.soiled == mark:
        return "what was written before the reset is still there"
    if instances and instances[1] in ("", instances[0]):
        return "nothing shows that another instance runs than before the reset"
    if mark is None and not (instances and instances[0]):
        # A machine that a reset never reached would look the same.
        return "nothing could be written to it before the reset, so nothing shows that it was reset"
    return None
