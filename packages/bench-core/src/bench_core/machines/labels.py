"""The names and labels of machines: the account of them that outlives every journal."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bench_core.machines.records import Found, JournalLine

NAMESPACE = "proctor.namespace"
NONCE = "proctor.nonce"
_LONGEST_SLUG = 20  # Azure allows names of 64 characters, and hosts of containers 63


def machine_name(namespace: str, provider: str, key: str, generation: int) -> str:
    """Return the name of the machine of a key and generation, the same for every caller.

    A random name would make a second machine of every retry.

    Example:
        >>> machine_name("a1", "docker", "run 7/Slot 2", 3)
        'proctor-run-7-slot-2-a1f4e3e30f-g3'
    """
    text = f"{namespace}\0{provider}\0{key}"
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:10]
    slug = re.sub(r"[^a-z0-9]+", "-", key.lower()).strip("-")[:_LONGEST_SLUG].strip("-")
    return f"proctor-{slug or 'machine'}-{digest}-g{generation}"


def machine_labels(namespace: str, line: JournalLine) -> dict[str, str]:
    """Return the labels of everything that belongs to the machine of `line`."""
    return {
        NAMESPACE: namespace,
        NONCE: line.nonce,
        "proctor.provider": line.provider,
        "proctor.key": line.key,
        "proctor.generation": str(line.generation),
        "proctor.owner": line.owner,
        "proctor.spec": line.spec_sha256,
    }


def is_of(found: Found, line: JournalLine) -> bool:
    """Whether a listed machine is that of `line`, and not another of its name."""
    return found.labels.get(NONCE) == line.nonce


def is_of_another(found: Found, line: JournalLine) -> bool:
    """Whether the name of `line` now belongs to another machine; without labels, unknown, so False."""
    return bool(found.labels) and not is_of(found, line)
