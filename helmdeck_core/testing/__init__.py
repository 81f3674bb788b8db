"""For tests of plugins and of applications: scripted and failing servers, a contract for providers, and a pytest plugin.

Switch the fixtures on with ``pytest_plugins = ["helmdeck_core.testing"]`` or ``-p helmdeck_core.testing``; everything else
works without pytest. Names are imported when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from helmdeck_core.testing.contract import ProviderContract
    from helmdeck_core.testing.dialects import (
        ANTHROPIC,
        DIALECTS,
        GEMINI,
        OLLAMA,
        OPENAI_CHAT,
        OPENAI_RESPONSES,
        Dialect,
        Said,
        in_pieces,
        sse,
    )
    from helmdeck_core.testing.failing import MODES, FailingServer, Mode, failing_server
    from helmdeck_core.testing.making import make_deck, write_distribution
    from helmdeck_core.testing.proxy import Fault, FaultyProxy, Harm, faulty_proxy
    from helmdeck_core.testing.scripted import (
        Fail,
        RepliesExhausted,
        Reply,
        Scripted,
        ScriptedProvider,
        cut_json,
        draft_in_reasoning,
        empty_content_filter,
        empty_error,
        empty_length,
        empty_stop,
        endless_thinking,
        error_in_200,
        no_end,
        scripted_provider,
        too_many_requests,
        whitespace_loop,
    )
    from helmdeck_core.testing.servers import ChatServer, Ending, Pieces, chat_server, completion, weak_model_server

# pytest loads this module's fixtures by name, so that importing the module does not import pytest.
pytest_plugins = ("helmdeck_core.testing.fixtures",)

_HOME = {
    "ANTHROPIC": "dialects",
    "DIALECTS": "dialects",
    "GEMINI": "dialects",
    "MODES": "failing",
    "OLLAMA": "dialects",
    "OPENAI_CHAT": "dialects",
    "OPENAI_RESPONSES": "dialects",
    "ChatServer": "servers",
    "Dialect": "dialects",
    "Ending": "servers",
    "Fail": "scripted",
    "FailingServer": "failing",
    "Fault": "proxy",
    "FaultyProxy": "proxy",
    "Harm": "proxy",
    "Mode": "failing",
    "Pieces": "servers",
    "ProviderContract": "contract",
    "RepliesExhausted": "scripted",
    "Reply": "scripted",
    "Said": "dialects",
    "Scripted": "scripted",
    "ScriptedProvider": "scripted",
    "chat_server": "servers",
    "completion": "servers",
    "cut_json": "scripted",
    "draft_in_reasoning": "scripted",
    "empty_content_filter": "scripted",
    "empty_error": "scripted",
    "empty_length": "scripted",
    "empty_stop": "scripted",
    "endless_thinking": "scripted",
    "error_in_200": "scripted",
    "failing_server": "failing",
    "faulty_proxy": "proxy",
    "in_pieces": "dialects",
    "make_deck": "making",
    "no_end": "scripted",
    "scripted_provider": "scripted",
    "sse": "dialects",
    "too_many_requests": "scripted",
    "weak_model_server": "servers",
    "whitespace_loop": "scripted",
    "write_distribution": "making",
}

__all__ = [
    "ANTHROPIC",
    "DIALECTS",
    "GEMINI",
    "MODES",
    "OLLAMA",
    "OPENAI_CHAT",
    "OPENAI_RESPONSES",
    "ChatServer",
    "Dialect",
    "Ending",
    "Fail",
    "FailingServer",
    "Fault",
    "FaultyProxy",
    "Harm",
    "Mode",
    "Pieces",
    "ProviderContract",
    "RepliesExhausted",
    "Reply",
    "Said",
    "Scripted",
    "ScriptedProvider",
    "chat_server",
    "completion",
    "cut_json",
    "draft_in_reasoning",
    "empty_content_filter",
    "empty_error",
    "empty_length",
    "empty_stop",
    "endless_thinking",
    "error_in_200",
    "failing_server",
    "faulty_proxy",
    "in_pieces",
    "make_deck",
    "no_end",
    "scripted_provider",
    "sse",
    "too_many_requests",
    "weak_model_server",
    "whitespace_loop",
    "write_distribution",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if _HOME[name] == "contract":
        import pytest

        # Whoever subclasses the contract sees what its assertions compared.
        pytest.register_assert_rewrite(
            *(f"{__name__}.{module}" for module in ("bench", "contract_requests", "contract"))
        )
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
