"""A conversation may reach another process at each turn: processes share what they remember in one store."""

import asyncio
import json

import pytest

from helmdeck_core import ToolCall
from helmdeck_core.log import logger
from helmdeck_gateway import Gateway, GatewaySettings, Principal
from helmdeck_gateway.conversations import conversation_store
from helmdeck_gateway.conversations.conversation_store import ConversationStore
from helmdeck_gateway.conversations.opaque_store import OpaqueStore
from helmdeck_gateway.conversations.response_store import _data, _message
from helmdeck_gateway.http_server.counters import Counters
from helmdeck_gateway.stores import open_store
from helmdeck_gateway.stores.memory import MemoryStore
from helmdeck_storage import StorageError
from helmdeck_testing import ANTHROPIC, OPENAI_CHAT, ScriptedAnswer, make_deck
from tests.helmdeck_gateway.gateway_store_support import store_url as store_url
from tests.helmdeck_gateway.gateway_support import DIALECTS, AppRequest, FormatServer, upstream
from tests.helmdeck_gateway.test_matrix import CONVERSATIONS

CALLS = (ToolCall("call_1", "look_up", '{"word": "tide"}'), ToolCall("call_2", "look_up", '{"word": "ebb"}'))
WEAK = {"tier": "C", "input_tokens": 16_000, "max_catalog_bytes": 4_000}


class Callers:
    """Takes the value of ``authorization`` as the caller."""

    async def authorise(self, headers):
        return Principal(caller=headers.get(b"authorization", b"ada").decode())


class Processes:
    """Gateways with decks and stores of their own, as in several processes; requests take turns.

    :ivar operations: the operations of their stores.
    """

    def __init__(self, server, url, config):
        self._decks = [make_deck(config={"providers": {"up": upstream(server, **config)}, **BUDGETS}) for _ in range(2)]
        self._stores = [open_store(url) for _ in self._decks]
        self.operations = []
        for store in self._stores:
            for name in ("put", "get"):
                setattr(store, name, self._noted(name, getattr(store, name)))
        pairs = zip(self._decks, self._stores, strict=True)
        self.gateways = [Gateway(deck, authoriser=Callers(), store=store) for deck, store in pairs]
        self._turn = 0

    def _noted(self, name, operation):
        async def noted(kind, *arguments):
            self.operations.append((name, kind))
            return await operation(kind, *arguments)

        return noted

    async def send(self, path, body=None, caller="ada", method="POST"):
        self._turn += 1
        gateway = self.gateways[self._turn % 2]
        return await AppRequest(gateway.app, path, body, method, {"authorization": caller}).sent()

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        for gateway, deck, store in zip(self.gateways, self._decks, self._stores, strict=True):
            await gateway.aclose()
            await deck.aclose()
            await store.aclose()


BUDGETS = {"budgets": {"up/weak": WEAK}, "events": {"sinks": ["gateway"]}}


def in_processes(server, url, run, **config):
    async def main():
        async with Processes(server, url, config) as processes:
            return await run(processes)

    return asyncio.run(main())


@pytest.fixture(scope="module", params=[ANTHROPIC], ids=["anthropic"])
def thinking(request):
    server = FormatServer(request.param, ScriptedAnswer(reasoning="Look it up.", stop="tool_calls", tool_calls=CALLS))
    yield server
    server.close()


@pytest.fixture(scope="module")
def server():
    running = FormatServer(OPENAI_CHAT)
    yield running
    running.close()


@pytest.mark.parametrize("stream", [False, True])
def test_previous_response_is_found_by_another_process_and_by_its_caller_only(store_url, server, stream):
    async def run(processes):
        server.answer = ScriptedAnswer(text="Bond")
        body = {"model": "up/m", "input": "my name is Bond", "stream": stream}
        first = await processes.send("/v1/responses", body)
        name = json.loads(first.raw.split(b"data: ")[-1])["response"]["id"] if stream else json.loads(first.raw)["id"]
        server.requests.clear()
        again = {"model": "up/m", "input": "who am I?", "previous_response_id": name}
        assert (await processes.send("/v1/responses", again)).status == 200
        texts = [message["content"] for message in server.requests[0].body["messages"]]
        assert texts == ["my name is Bond", "Bond", "who am I?"]
        for path, body, method in (("/v1/responses", again, "POST"), (f"/v1/responses/{name}", None, "DELETE")):
            refused = await processes.send(path, body, "eve", method)
            assert (refused.status, json.loads(refused.raw)["error"]["code"]) == (404, "previous_response_not_found")
        assert (await processes.send(f"/v1/responses/{name}", caller="ada", method="DELETE")).status == 200
        assert (await processes.send("/v1/responses", again)).status == 404

    in_processes(server, store_url, run)


@pytest.mark.parametrize("name", DIALECTS)
def test_signature_of_reasoning_returns_to_the_provider_through_another_process(store_url, thinking, name):
    dialect = DIALECTS[name]

    async def run(processes):
        body = {"model": "up/m", **dialect.body("x"), "tools": dialect.tools}
        body.pop("stream_options", None)
        await processes.send(dialect.path, body)
        for caller, has_signature in (("ada", True), ("eve", False)):
            thinking.requests.clear()
            answer = await processes.send(dialect.path, {**body, **CONVERSATIONS[name]}, caller)
            assert answer.status == 200, answer.raw
            turn = next(each for each in thinking.requests[0].body["messages"] if each["role"] == "assistant")
            assert (turn["content"][0]["type"] == "thinking") is has_signature

    in_processes(thinking, store_url, run, kind="anthropic")


def test_narrowed_tools_stay_the_same_in_another_process(store_url, server):
    words = "weather invoice calendar music translate shipping hotel flight recipe stock".split()
    tools = [
        {"type": "function", "function": {"name": f"{word}{n}", "description": f"{word} " * 40, "parameters": {}}}
        for word in words
        for n in range(4)
    ]

    async def run(processes):
        server.answer = ScriptedAnswer(text="ok")
        server.requests.clear()
        turns = [{"role": "user", "content": "Find a recipe1."}]
        for text in ("And a hotel2?", "And a flight3?", "And stock0?"):
            await processes.send("/v1/chat/completions", {"model": "up/weak", "messages": turns, "tools": tools})
            turns += [{"role": "assistant", "content": "ok"}, {"role": "user", "content": text}]
        return [[tool["function"]["name"] for tool in each.body["tools"]] for each in server.requests]

    first, second, third = in_processes(server, store_url, run)
    assert len(first) < len(tools)
    assert "hotel2" in second and "flight3" in third
    assert len(set(first) & set(third)) >= len(first) - 4, "tools of earlier turns keep their places"


def test_requests_that_need_no_memory_use_no_store(server, tmp_path):
    async def run(processes):
        server.answer = ScriptedAnswer(stop="tool_calls", tool_calls=CALLS[:1])
        chat = DIALECTS["chat"]
        await processes.send(chat.path, {"model": "up/m", **chat.body("x"), "tools": chat.tools})
        await processes.send("/v1/responses", {"model": "up/m", "input": "x", "store": False})
        await processes.send("/v1/embeddings", {"model": "up/m", "input": "x"})
        assert processes.operations == []
        for _ in range(4):  # a turn of another process is looked up once by each
            await processes.send(chat.path, {"model": "up/m", **chat.body("x"), **CONVERSATIONS["chat"]})
        assert processes.operations == [("get", "turn")] * 2

    in_processes(server, f"sqlite:{tmp_path / 'gateway.db'}", run)


class BrokenStore:
    async def put(self, *_):
        raise StorageError("the store is away")

    get = delete = put


def test_store_that_fails_is_counted_and_fails_only_what_depends_on_it(server, thinking):
    messages = []
    number = logger().add(lambda message: messages.append(message.record["extra"].get("error")))

    async def run():
        async with make_deck(config={"providers": {"up": upstream(server)}}) as deck:
            gateway = Gateway(deck, GatewaySettings(), authoriser=Callers(), store=BrokenStore())
            server.answer = ScriptedAnswer(text="hello")
            body = {"model": "up/m", "input": "hi"}
            answer = await AppRequest(gateway.app, "/v1/responses", body).sent()
            later = await AppRequest(gateway.app, "/v1/responses", {**body, "previous_response_id": "x"}).sent()
            return answer, later, gateway.counters

    try:
        answer, later, counters = asyncio.run(run())
    finally:
        logger().remove(number)
    assert (answer.status, later.status, later.headers["retry-after"]) == (200, 503, "1")
    assert json.loads(later.raw)["error"]["code"] == "store_unavailable"
    assert counters.store_errors == 1
    assert "helmdeck_gateway_store_errors_total 1" in counters.render()


class FailsOnce(MemoryStore):
    """A store whose first lookup fails."""

    has_failed = False

    async def get(self, kind, key, owner):
        if not self.has_failed:
            self.has_failed = True
            raise StorageError("the store is away")
        return await super().get(kind, key, owner)


def test_turn_whose_lookup_failed_is_looked_up_again():
    async def run():
        documents = ConversationStore(FailsOnce(), Counters(), ttl_s=60)
        await OpaqueStore(documents).keep(["call_1"], "", {"signature": "s"}, "ada")
        other, found = OpaqueStore(documents), []
        for _ in range(2):
            lookup = other.lookup("ada")
            lookup.find(["call_1"])
            found.append((await lookup.fetch(), dict(lookup.find(["call_1"]))))
        return found

    assert asyncio.run(run()) == [(False, {}), (True, {"signature": "s"})]


class IsAway(MemoryStore):
    """A store that fails while it is away."""

    is_away = True

    async def put(self, *arguments):
        if self.is_away:
            raise StorageError("the store is away")
        await super().put(*arguments)

    async def get(self, *arguments):
        if self.is_away:
            raise StorageError("the store is away")
        return await super().get(*arguments)


def test_value_that_a_store_did_not_take_is_found_and_stored_when_the_store_answers(virtual_time):
    async def run():
        store = IsAway()
        documents = ConversationStore(store, Counters(), ttl_s=60)
        for number in (1, 2):
            await documents.keep("response", f"r{number}", "ada", {"turn": number})
        meanwhile = await documents.read("response", "r1", "ada"), await documents.find("response", "r1", "bob")
        store.is_away = False
        await documents.keep("response", "r2", "ada", {"turn": 3})
        await asyncio.sleep(10)
        other = ConversationStore(store, Counters(), ttl_s=60)
        return meanwhile, [await other.read("response", f"r{number}", "ada") for number in (1, 2)]

    assert asyncio.run(run()) == (({"turn": 1}, None), [{"turn": 1}, {"turn": 3}])


def test_value_that_waits_for_the_store_is_stored_at_the_end_of_the_process():
    async def run():
        store = IsAway()
        documents = ConversationStore(store, Counters(), ttl_s=60)
        await documents.keep("response", "r1", "ada", {"turn": 1})
        store.is_away = False
        await documents.aclose()
        return await ConversationStore(store, Counters(), ttl_s=60).read("response", "r1", "ada")

    assert asyncio.run(run()) == {"turn": 1}


def test_values_that_wait_for_the_store_have_a_limit(monkeypatch):
    monkeypatch.setattr(conversation_store, "MAX_UNSAVED_BYTES", 2_500)

    async def run():
        documents = ConversationStore(IsAway(), Counters(), ttl_s=60)
        for number in range(3):
            await documents.keep("response", f"r{number}", "ada", number * b"x" + bytes(1_000))
        return [await documents.find("response", f"r{number}", "ada") is not None for number in range(3)]

    assert asyncio.run(run()) == [False, True, True]


def test_message_of_every_kind_is_stored_without_a_loss():
    from helmdeck_core import ImagePart, Message, Role, TextPart

    for message in (
        Message(Role.USER, (TextPart("hi"), ImagePart("image/png", b"\x00\xff"), ImagePart("", url="https://x/y"))),
        Message(Role.ASSISTANT, (), CALLS, opaque={"content": [{"type": "thinking", "signature": "c2ln"}]}),
        Message(Role.TOOL, (TextPart("done"),), tool_call_id="call_1"),
    ):
        assert _message(_data(message)) == message
