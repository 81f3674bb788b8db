"""Test kit for plugins and applications: scripted models, failing servers, contract suites, pytest fixtures.

Enable the fixtures with ``pytest_plugins = ["helmdeck_testing"]`` or ``-p helmdeck_testing``; everything else works without
pytest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from helmdeck_testing.deck_factory import make_deck as make_deck
from helmdeck_testing.deck_factory import provider_settings as provider_settings
from helmdeck_testing.deck_factory import write_distribution as write_distribution
from helmdeck_testing.fault_server import MODES as MODES
from helmdeck_testing.fault_server import FailingServer as FailingServer
from helmdeck_testing.fault_server import Mode as Mode
from helmdeck_testing.fault_server import failing_server as failing_server
from helmdeck_testing.proxy import Fault as Fault
from helmdeck_testing.proxy import FaultKind as FaultKind
from helmdeck_testing.proxy import FaultyProxy as FaultyProxy
from helmdeck_testing.proxy import faulty_proxy as faulty_proxy
from helmdeck_testing.scripted import Fail as Fail
from helmdeck_testing.scripted import RepliesExhausted as RepliesExhausted
from helmdeck_testing.scripted import Reply as Reply
from helmdeck_testing.scripted import Scripted as Scripted
from helmdeck_testing.scripted import ScriptedProvider as ScriptedProvider
from helmdeck_testing.scripted import cut_json as cut_json
from helmdeck_testing.scripted import draft_in_reasoning as draft_in_reasoning
from helmdeck_testing.scripted import empty_content_filter as empty_content_filter
from helmdeck_testing.scripted import empty_error as empty_error
from helmdeck_testing.scripted import empty_length as empty_length
from helmdeck_testing.scripted import empty_stop as empty_stop
from helmdeck_testing.scripted import endless_thinking as endless_thinking
from helmdeck_testing.scripted import error_in_200 as error_in_200
from helmdeck_testing.scripted import no_end as no_end
from helmdeck_testing.scripted import scripted_provider as scripted_provider
from helmdeck_testing.scripted import too_many_requests as too_many_requests
from helmdeck_testing.scripted import whitespace_loop as whitespace_loop
from helmdeck_testing.server_formats import ANTHROPIC as ANTHROPIC
from helmdeck_testing.server_formats import GEMINI as GEMINI
from helmdeck_testing.server_formats import OLLAMA as OLLAMA
from helmdeck_testing.server_formats import OPENAI_CHAT as OPENAI_CHAT
from helmdeck_testing.server_formats import OPENAI_RESPONSES as OPENAI_RESPONSES
from helmdeck_testing.server_formats import SERVER_FORMATS as SERVER_FORMATS
from helmdeck_testing.server_formats import ScriptedAnswer as ScriptedAnswer
from helmdeck_testing.server_formats import ServerFormat as ServerFormat
from helmdeck_testing.server_formats import in_chunks as in_chunks
from helmdeck_testing.server_formats import sse as sse
from helmdeck_testing.servers import ChatServer as ChatServer
from helmdeck_testing.servers import Chunks as Chunks
from helmdeck_testing.servers import Ending as Ending
from helmdeck_testing.servers import chat_server as chat_server
from helmdeck_testing.servers import completion as completion
from helmdeck_testing.servers import weak_model_server as weak_model_server
from helmdeck_testing.stubs import EventRecorder as EventRecorder
from helmdeck_testing.stubs import StubProvider as StubProvider
from helmdeck_testing.stubs import plugin_with as plugin_with

if TYPE_CHECKING:
    from helmdeck_testing.command_contract import CommandContract as CommandContract
    from helmdeck_testing.contract import ProviderContract as ProviderContract
    from helmdeck_testing.event_sink_contract import EventSinkContract as EventSinkContract
    from helmdeck_testing.history_contract import HistoryStoreContract as HistoryStoreContract
    from helmdeck_testing.pack_contract import PackContract as PackContract
    from helmdeck_testing.ranker_contract import RankerContract as RankerContract
    from helmdeck_testing.transport_contract import TransportContract as TransportContract
    from helmdeck_testing.trim_step_contract import TrimStepContract as TrimStepContract

_CONTRACTS = {
    "CommandContract": ("command_contract",),
    "EventSinkContract": ("event_sink_contract",),
    "HistoryStoreContract": ("history_contract",),
    "PackContract": ("pack_contract",),
    "ProviderContract": ("contract_runner", "contract_requests", "contract"),
    "RankerContract": ("ranker_contract",),
    "TransportContract": ("transport_contract_runner", "transport_contract"),
    "TrimStepContract": ("trim_step_contract",),
}
"""The modules of each contract suite; the last one defines the class."""

# pytest imports this module by name, so that importing helmdeck_testing does not import pytest.
pytest_plugins = ("helmdeck_testing.fixtures",)


def __getattr__(name: str) -> Any:
    if name not in _CONTRACTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    import pytest

    # Failed assertions of a contract suite then show the compared values.
    modules = _CONTRACTS[name]
    pytest.register_assert_rewrite(*(f"{__name__}.{module}" for module in modules))
    return getattr(importlib.import_module(f"{__name__}.{modules[-1]}"), name)
