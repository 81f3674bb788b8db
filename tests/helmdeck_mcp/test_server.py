"""The MCP server as clients of both protocol eras see it, in one process."""

import asyncio
import contextlib
import json
import threading

import anyio
import pytest

from helmdeck_core import CallLimits, Catalog, CatalogSource, Helmdeck, ProviderSpec
from helmdeck_mcp.server.progress import HEARTBEAT_S, with_progress
from helmdeck_mcp.server.server import make_server
from helmdeck_testing import StubProvider, make_deck, plugin_with, scripted_provider, too_many_requests
from tests.helmdeck_mcp.mcp_support import ERAS, Probe, client_of, on_client
from tests.virtual_time_support import virtual_time

__all__ = ("virtual_time",)


@ERAS
def test_tools_are_listed_with_annotations_and_output_schemas(era):
    async def use(client):
        return client.protocol_version, {tool.name: tool for tool in (await client.list_tools()).tools}

    version, tools = on_client(use, era=era)
    assert version == ("2026-07-28" if era == "auto" else "2025-11-25")
    assert [name for name in tools if name.startswith(("helmdeck", "probe")) and "memory" not in name] == [
        "helmdeck__plan", "helmdeck__route", "helmdeck__pipeline-run", "helmdeck__run", "helmdeck__explain", "helmdeck__forget",
        "probe__double", "probe__fail", "probe__large", "probe__wait", "probe__who",
    ]  # fmt: skip
    assert tools["helmdeck__plan"].annotations.read_only_hint is True
    assert tools["helmdeck__run"].annotations.read_only_hint is False
    assert tools["helmdeck__plan"].output_schema["properties"]["steps"]["type"] == "array"
    assert tools["probe__double"].annotations.destructive_hint is False
    assert tools["probe__double"].output_schema["anyOf"] == [{"required": ["n"]}, {"required": ["error"]}]
    assert tools["probe__who"].annotations is None


@ERAS
def test_pack_returns_a_structured_result_and_the_same_as_text(era):
    async def use(client):
        return await client.call_tool("probe__double", {"n": 21})

    result = on_client(use, era=era)
    assert result.structured_content == {"n": 42} == json.loads(result.content[0].text)
    assert not result.is_error


def test_result_that_is_only_a_text_is_sent_as_that_text():
    async def use(client):
        return await client.call_tool("probe__large", {"n": 3})

    result = on_client(use)
    assert (result.content[0].text, result.structured_content) == ("xxx", {"text": "xxx"})


@ERAS
@pytest.mark.parametrize(
    ("tool", "arguments", "cause"),
    [
        ("probe__fail", {}, "handler_failed"),
        ("probe__double", {"n": "one"}, "invalid_input"),
        ("helmdeck__explain", {"top": 0}, "invalid_input"),
        ("helmdeck__pipeline-run", {"id": "no-such-pipeline"}, "invalid_input"),
        ("helmdeck__plan", {"intent": "x", "model": "acme/any"}, "rate_limited"),
    ],
)
def test_failure_names_cause_hint_and_next_action_in_text_and_as_data(era, tool, arguments, cause):
    async def use(client):
        return await client.call_tool(tool, arguments)

    plugins = plugin_with(helmdeck_packs=Probe().packs())
    script = scripted_provider([too_many_requests(0)] * 20, "acme")
    config = {"catalog": {"sources": ["packs"]}, "recovery": {"max_attempts": 1}}
    result = on_client(use, make_deck(plugins, script, config=config), era=era)
    error = result.structured_content["error"]
    assert result.is_error and error["cause"] == cause
    assert error["hint"] and error["next_action"] and isinstance(error["retryable"], bool)
    text = result.content[0].text
    assert text.startswith(f"{tool} failed: ") and f"cause: {cause}" in text and f"next: {error['next_action']}" in text


def test_unexpected_exception_is_reported_without_its_message():
    deck = make_deck(config={"catalog": {"sources": ["packs"]}})

    def crash(*_, **__):
        raise RuntimeError("password hunter2")

    deck.explain = crash

    async def use(client):
        return await client.call_tool("helmdeck__explain", {"intent": "x"})

    result = on_client(use, deck)
    assert result.structured_content["error"]["message"] == "unexpected RuntimeError"
    assert "hunter2" not in result.model_dump_json()


def test_unknown_tool_is_answered_with_the_nearest_in_spelling_and_in_meaning():
    async def use(client):
        return await client.call_tool("probe__duoble", {}), await client.call_tool("double_a_number", {})

    misspelt, other = on_client(use)
    assert "did you mean 'probe__double'?" in misspelt.content[0].text
    assert other.structured_content["error"]["likely"][0] == "probe__double"
    assert other.structured_content["error"]["cause"] == "unknown_tool"
    assert "helmdeck__search" not in other.content[0].text, "it is not listed without the facade"


@ERAS
def test_resources_are_stable_and_have_cache_hints(era):
    async def use(client):
        listed = [each.uri for each in (await client.list_resources()).resources]
        return (
            listed,
            [await client.read_resource(uri) for uri in listed],
            [await client.read_resource(uri) for uri in listed],
        )

    uris, first, second = on_client(use, era=era)
    assert uris == sorted(uris) and {"helmdeck://context-budgets", "helmdeck://models", "helmdeck://routing-guide"} <= {
        *uris
    }
    assert [each.contents[0].text for each in first] == [each.contents[0].text for each in second]
    contents = {uri: json.loads(each.contents[0].text) for uri, each in zip(uris, first, strict=True)}
    assert contents["helmdeck://models"]["default"] == "local/lexical"
    assert [row["row"] for row in contents["helmdeck://context-budgets"]["budgets"]][0:2] == sorted(
        row["row"] for row in contents["helmdeck://context-budgets"]["budgets"]
    )[0:2]
    packs = [row["name"] for row in contents["helmdeck://routing-guide"]["packs"]]
    assert packs == sorted(packs) and "probe.double" in packs
    shared = first[uris.index("helmdeck://context-budgets")]
    assert (shared.ttl_ms, shared.cache_scope) == ((300_000, "public") if era == "auto" else (0, "private"))


def test_routing_guide_lists_the_packs_when_a_catalog_source_fails():
    def load():
        raise OSError("the share is gone")

    sources = plugin_with(helmdeck_catalog_sources=[CatalogSource(name="gone", load=load)])
    deck = make_deck(
        plugin_with(helmdeck_packs=Probe().packs()), sources, config={"catalog": {"sources": ["packs", "gone"]}}
    )

    async def use(client):
        listed = [tool.name for tool in (await client.list_tools()).tools]
        return listed, json.loads((await client.read_resource("helmdeck://routing-guide")).contents[0].text)

    listed, guide = on_client(use, deck)
    assert "helmdeck__plan" in listed
    assert "the share is gone" in guide["note"] and "probe__double" in [row["name"] for row in guide["packs"]]


def test_unknown_resource_and_prompt_are_errors_with_the_existing_names():
    from mcp.shared.exceptions import MCPError

    async def use(client):
        for call in (
            client.read_resource("helmdeck://model"),
            client.get_prompt("plann", {"intent": "x"}),
            client.get_prompt("plan", {"intent": " "}),
        ):
            with pytest.raises(MCPError) as caught:
                await call
            messages.append(str(caught.value))

    messages = []
    on_client(use)
    assert "did you mean 'helmdeck://models'?" in messages[0]
    assert "did you mean 'plan'?" in messages[1] and "needs the argument intent" in messages[2]


def test_prompts_contain_the_request_unchanged():
    async def use(client):
        names = [prompt.name for prompt in (await client.list_prompts()).prompts]
        return names, (await client.get_prompt("plan", {"intent": "pay {intent} {0}"})).messages[0].content.text

    names, text = on_client(use)
    assert names == ["plan", "route"] and text.endswith("The request:\npay {intent} {0}")


def test_plan_and_route_use_the_requested_model():
    answer = '{"steps": [{"tool": "probe.double", "args": {"n": 2}, "rationale": "r"}], "reasoning": "one"}'
    packs, model = plugin_with(helmdeck_packs=Probe().packs()), scripted_provider([answer], "acme")
    deck = make_deck(packs, model, config={"catalog": {"sources": ["packs"]}})

    async def use(client):
        return await client.call_tool("helmdeck__plan", {"intent": "double two", "model": "acme/any"})

    plan = on_client(use, deck).structured_content
    assert (plan["outcome"], plan["steps"][0]["tool"], plan["model"]) == ("planned", "probe.double", "acme/any")


# -- history ---------------------------------------------------------------------------------------------------


def history_deck(tmp_path):
    config = {"catalog": {"sources": ["packs", "example"]}, "history": {"url": f"sqlite:{tmp_path / 'history.db'}"}}
    environ = {"HELMDECK_DATA_DIR": str(tmp_path)}
    return make_deck(plugin_with(helmdeck_packs=Probe().packs()), config=config, environ=environ)


async def read(client, name):
    return json.loads((await client.read_resource(f"helmdeck://{name}")).contents[0].text)


def test_plan_takes_executed_steps_by_their_listed_names_and_reports_unknown_ones():
    async def use(client):
        ask = {"intent": "double two", "model": "local/lexical"}
        calls = [{**ask, "done": [{"tool": name}]} for name in ("probe__double", "probe.double", "probe.duoble")]
        return [await client.call_tool("helmdeck__plan", call) for call in calls]

    listed, by_id, unknown = on_client(use)
    assert listed.structured_content["outcome"] == by_id.structured_content["outcome"] == "complete"
    detail = unknown.structured_content["error"]["detail"]
    assert detail.startswith("done: the catalog has no entry 'probe.duoble' (did you mean 'probe.double'?); entries: ")


@ERAS
def test_plans_of_the_caller_are_a_resource_and_can_be_forgotten(era, tmp_path, monkeypatch):
    monkeypatch.setenv("HELMDECK_DATA_DIR", str(tmp_path))
    deck = history_deck(tmp_path)

    async def use(client):
        await client.call_tool("helmdeck__plan", {"intent": "search the web for cats"})
        deck.history.flush()
        plans = await read(client, "my-plans")
        wrong = await client.call_tool("helmdeck__forget", {})
        other = await client.call_tool("helmdeck__forget", {"tool": "no.such_tool"})
        forgotten = await client.call_tool("helmdeck__forget", {"request": "search the web for cats"})
        return plans, wrong, other, forgotten, await read(client, "my-plans"), await read(client, "my-defaults")

    plans, wrong, other, forgotten, after, defaults = on_client(use, deck, era=era)
    assert plans["plans"][0]["tools"] == {"web.search": 1}
    assert "set all to true" in wrong.structured_content["error"]["detail"]
    assert (other.structured_content["deleted"], forgotten.structured_content["deleted"]) == (0, 1)
    assert after == {"plans": [], "note": "nothing is recorded yet"} and defaults["defaults"] == []


def test_server_without_a_history_reports_it():
    async def use(client):
        forgotten = await client.call_tool("helmdeck__forget", {"all": True})
        return await read(client, "my-plans"), await client.read_resource("helmdeck://my-plans"), forgotten

    plans, resource, forgotten = on_client(use)
    assert plans["plans"] == [] and "no history is configured" in plans["note"]
    assert resource.cache_scope == "private"
    assert forgotten.structured_content["deleted"] == 0 and "note" in forgotten.structured_content


# -- progress and cancellation ---------------------------------------------------------------------------------


@ERAS
def test_long_call_reports_progress_within_five_seconds_again_and_again(era, virtual_time):
    async def use(client):
        received = []

        async def on_progress(progress, total, message):
            received.append((progress, virtual_time.passed_s, message))

        await client.call_tool("probe__wait", {"seconds": 62}, progress_callback=on_progress)
        return received

    received = on_client(use, era=era)
    numbers, times, messages = zip(*received, strict=True)
    assert list(numbers) == sorted({*numbers})
    assert max(later - earlier for earlier, later in zip((0.0, *times), (*times, 62.0), strict=False)) <= 5
    assert messages[0] == f"probe__wait is running ({HEARTBEAT_S:.0f} s)"


def test_message_of_a_pack_is_sent_at_once_and_a_blocked_client_delays_nothing(virtual_time):
    sent = []

    async def send(count, message):
        sent.append(message)
        if len(sent) == 2:
            await asyncio.sleep(3_600)  # the client stopped reading

    async def work(update):
        update("first")
        await asyncio.sleep(1)
        for number in range(10_000):
            update(f"message {number}")
        await asyncio.sleep(60)
        return "result"

    assert asyncio.run(with_progress(send, "label", work)) == "result"
    assert sent == ["first (0 s)", "message 9999 (1 s)"] and virtual_time.passed_s < 100


def test_progress_that_cannot_be_sent_does_not_fail_the_call(virtual_time):
    async def send(count, message):
        raise ConnectionError

    async def work(update):
        await asyncio.sleep(20)
        return "result"

    assert asyncio.run(with_progress(send, "label", work)) == "result"


@ERAS
def test_cancelled_request_cancels_the_running_pack(era):
    probe = Probe()

    async def use(client):
        with anyio.CancelScope() as scope:
            async with anyio.create_task_group() as group:
                group.start_soon(client.call_tool, "probe__wait", {})
                await asyncio.to_thread(probe.started.wait, 10)
                scope.cancel()
        return await asyncio.to_thread(probe.cancelled.wait, 10)

    assert on_client(use, probe.deck(), era=era)


@ERAS
def test_cancelled_plan_cancels_the_model_call(era):
    started, cancelled = threading.Event(), threading.Event()

    class Hanging(StubProvider):
        async def complete(self, request):
            started.set()
            try:
                await asyncio.sleep(3_600)
            except asyncio.CancelledError:
                cancelled.set()
                raise

    provider = ProviderSpec(name="acme", open=lambda settings, context: Hanging("x"))
    deck = make_deck(plugin_with(helmdeck_providers=[provider]))

    async def use(client):
        async with anyio.create_task_group() as group:
            group.start_soon(client.call_tool, "helmdeck__plan", {"intent": "search the web", "model": "acme/any"})
            await asyncio.to_thread(started.wait, 10)
            group.cancel_scope.cancel()
        return await asyncio.to_thread(cancelled.wait, 10)

    assert on_client(use, deck, era=era)


def test_deadline_of_the_server_ends_a_call_as_a_timeout(virtual_time):
    async def use(client):
        return await client.call_tool("probe__wait", {})

    result = on_client(use, limits=CallLimits(deadline_s=30))
    assert result.structured_content["error"]["cause"] == "timeout"
    assert result.structured_content["error"]["retryable"] is True


@pytest.mark.parametrize("seconds", [0, 10], ids=["at once", "later"])
@ERAS
def test_clients_are_notified_when_the_list_of_tools_changes(era, seconds, virtual_time):
    async def main():
        changed = asyncio.Event()

        async def on_message(message):
            if getattr(message, "method", "") == "notifications/tools/list_changed":
                changed.set()

        deck = Probe().deck()
        catalogs = [deck.catalog]
        deck.__class__ = type("Changing", (Helmdeck,), {"catalog": property(lambda _: catalogs[-1])})
        async with deck, client_of(make_server(deck), era, message_handler=on_message) as client:
            before = [tool.name for tool in (await client.list_tools()).tools]
            watched = client.listen(tools_list_changed=True) if era == "auto" else contextlib.nullcontext()
            async with watched as subscription:
                await asyncio.sleep(seconds)
                assert not changed.is_set()
                catalogs.append(Catalog(deck.catalog.entries[1:]))  # as a source does that changed
                await (anext(aiter(subscription)) if era == "auto" else changed.wait())
                return before, [tool.name for tool in (await client.list_tools()).tools]

    before, after = asyncio.run(main())
    assert len(after) == len(before) - 1 and {*after} < {*before}
