"""Drive the real browser-use: a clean environment, whole attempts, scripted and watched chats.

Nothing here imports `browser_use` until it is needed, so that `prepare` can set the environment
browser-use reads when it is first imported. Works with browser-use 0.11.13 and 0.13.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench_core.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from bench_core.browser_use.agent import (
        AgentSettings,
        BrowserUseAgent,
        TaskInstructions,
        open_chat,
    )
    from bench_core.browser_use.attempt import Attempt
    from bench_core.browser_use.cdp_handlers import fan_out, registry_fans_out
    from bench_core.browser_use.chat import ModelChat, is_known_model, model_chat
    from bench_core.browser_use.patch import SharedPatch
    from bench_core.browser_use.providers import chat_for, known_providers
    from bench_core.browser_use.release import release_session
    from bench_core.browser_use.scripted_chat import ScriptedChat, ScriptError
    from bench_core.browser_use.session import attached_session
    from bench_core.browser_use.settings import import_browser_use, prepare
    from bench_core.browser_use.signals import without_signal_handlers
    from bench_core.browser_use.watch import ModelWatch, Patience

__all__ = [
    "AgentSettings",
    "Attempt",
    "BrowserUseAgent",
    "ModelChat",
    "ModelWatch",
    "Patience",
    "ScriptError",
    "ScriptedChat",
    "SharedPatch",
    "TaskInstructions",
    "attached_session",
    "chat_for",
    "fan_out",
    "import_browser_use",
    "is_known_model",
    "known_providers",
    "model_chat",
    "open_chat",
    "prepare",
    "registry_fans_out",
    "release_session",
    "without_signal_handlers",
]

__getattr__ = lazy_exports(
    __name__,
    {
        "agent": ("AgentSettings", "BrowserUseAgent", "TaskInstructions", "open_chat"),
        "attempt": ("Attempt",),
        "cdp_handlers": ("fan_out", "registry_fans_out"),
        "chat": ("ModelChat", "is_known_model", "model_chat"),
        "patch": ("SharedPatch",),
        "providers": ("chat_for", "known_providers"),
        "release": ("release_session",),
        "scripted_chat": ("ScriptError", "ScriptedChat"),
        "session": ("attached_session",),
        "settings": ("import_browser_use", "prepare"),
        "signals": ("without_signal_handlers",),
        "watch": ("ModelWatch", "Patience"),
    },
)
