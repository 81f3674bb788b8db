"""The contract of providers finds what is wrong: the example's provider, broken in many ways, breaks it in the right place."""

import asyncio
import importlib
import sys
import types
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "docs" / "examples"
SOURCE = (EXAMPLES / "acme_stream.py").read_text(encoding="utf-8")

REQUESTS = [
    ("only_the_last_message", "in request.messages\n", "in request.messages[-1:]\n", "everything_that_is_asked_is_sent", ()),
    ("no_limit", 'body["limit"] = request.max_tokens', "pass", "everything_that_is_asked_is_sent", ()),
    ("no_tools", "if request.tools:", "if False:", "everything_that_is_asked_is_sent", ()),
    ("its_own_name", 'request.model.partition("/")[2]', "request.model", "everything_that_is_asked_is_sent", ()),
    ("no_roles", "message.role.value", '"user"', "who_said_what_is_told_apart", ()),
    ("silent", '("temperature", "stop")', "()", "what_is_wished_is_sent_or_said_to_be_left_out", ("temperature",)),
    ("formatless", 'downgrades.append(f"response_format', '(f"response_format', "what_is_wished_is_sent_or_said_to_be_left_out", ("json_schema",)),
    ("no_extra", "**request.extra", "", "fields_of_the_callers_own_are_sent_as_they_are", ()),
    ("no_images", "if isinstance(part, ImagePart)]", "if False]", "an_image_is_sent_or_refused", ()),
    ("an_old_key", "self._connection.key()\n", "K.setdefault(1, self._connection.key())\n", "the_key_is_read_for_every_request", ()),
    ("twice", 'whole = await self._connection.post("/generate", body, headers, secrets)', 'whole = await self._connection.post("/generate", body, headers, secrets)\n        whole = await self._connection.post("/generate", body, headers, secrets)', "it_asks_once_and_goes_nowhere_else", ("unavailable",)),
]  # fmt: skip
ANSWERS = [
    ("made_up_end", 'self.fields.get("why")\n', 'self.fields.get("why") or "done"\n', "a_word_that_nobody_knows_and_no_word_are_no_clean_end", ()),
    ("made_up_words", '"done": StopReason.END_TURN', '"oops": StopReason.END_TURN, "done": StopReason.END_TURN', "a_word_that_nobody_knows_and_no_word_are_no_clean_end", ()),
    ("no_calls", 'event.get("calls") or ()', "()", "a_call_of_a_tool_is_read_and_the_turn_ended_for_it", ()),
    ("calls_come_late", "yield ChatDelta(tool_call=", "(", "a_call_of_a_tool_is_read_and_the_turn_ended_for_it", ()),
    ("any_call_counts", "stop_reason=in_context(strict, text=self.text, tool_calls=self.calls, is_at_limit=is_at_limit)", "stop_reason=StopReason.TOOL_CALL if self.calls else strict", "a_call_in_a_turn_that_was_cut_is_not_what_the_turn_ended_for", ()),
    ("no_cache", 'cached_input_tokens=count(fields, "cached"),', "", "input_that_was_read_from_a_cache_is_part_of_all_input", ()),
    ("no_quota", 'quota_metadata=quota(self.headers, ("acme-left-",), self.secrets),', "", "what_stands_beside_an_answer_is_kept", ()),
    ("no_request_id", "request_id=request_id(self.headers, self.secrets),", "", "what_stands_beside_an_answer_is_kept", ()),
    ("no_model", 'served_model=echoed(string(fields.get("model")), self.secrets),', "", "what_stands_beside_an_answer_is_kept", ()),
    ("a_200_is_believed", "if (facts := read_error(event)) is not None:", "if False:", "each_way_of_failing_has_its_cause", ("error_in_200",)),
    ("a_page_is_a_stream", "if incoming.is_whole:", "if incoming.status != 200:", "each_way_of_failing_has_its_cause", ("html_page",)),
    ("anything_is_an_answer", "if not isinstance(event, dict) or", "if False and", "each_way_of_failing_has_its_cause", ("alien_json",)),
    ("a_bare_exception", "raise TransientUnknown(", "raise ValueError(", "each_way_of_failing_has_its_cause", ("alien_json",)),
    ("thoughts_in_the_text", "yield ChatDelta(reasoning_content=reasoning)", "self.text += reasoning\n            yield ChatDelta(text=reasoning)", "each_way_of_failing_has_its_cause", ("draft_in_reasoning",)),
    ("it_tells", "{}, self._connection.secrets(key)", "{}, ()", "no_secret_is_repeated", ("unavailable",)),
    ("without_limits", "HttpConnection(settings)", "HttpConnection(attrs.evolve(settings, max_response_bytes=10**9))", "an_answer_that_is_larger_than_it_may_be_is_cut_off", ()),
    ("two_ends", "yield accumulator.response(request, self._context, downgrades)", "yield accumulator.response(request, self._context, downgrades)\n        yield accumulator.response(request, self._context, downgrades)", "a_good_answer_is_read_with_its_tokens_and_its_end", ()),
    ("wrong_models", "ModelInfo(id=name)", 'ModelInfo(id=f"acme/{name}")', "models_are_listed_by_the_names_that_they_are_asked_for", ()),
    ("one_answer_for_all", "accumulator = Accumulator(whole.headers, secrets)", "accumulator = K.setdefault(2, Accumulator(whole.headers, secrets))", "answers_to_many_requests_at_once_are_not_mixed_up", ()),
    ("closed_once", "await self._connection.aclose()", 'await self.__dict__.pop("_connection").aclose()', "it_can_be_closed_twice", ()),
]  # fmt: skip


@pytest.fixture
def contract(monkeypatch):
    """A contract that a plugin can be put into."""
    monkeypatch.syspath_prepend(str(EXAMPLES))
    made = []

    def of(plugin):
        kind = importlib.import_module("test_acme_stream").TestAcmeStream
        made.append(type("Broken", (kind,), {"plugin": plugin, "ways": property(lambda self: (False, True))}))
        made[-1].setup_class()
        for name, value in kind.environ.items():
            monkeypatch.setenv(name, value)
        return made[-1]()

    yield of
    for each in made:
        each._server.close()
    for name in ("acme_stream", "test_acme_stream"):
        sys.modules.pop(name, None)


def broken(name, old, new):
    assert old in SOURCE, old
    module = types.ModuleType(name)
    module.K = {}
    exec(compile(SOURCE.replace(old, new), name, "exec"), vars(module))
    return module


@pytest.mark.parametrize(
    ("name", "old", "new", "claim", "given"), [*REQUESTS, *ANSWERS], ids=lambda each: str(each)[:24]
)
def test_a_broken_provider_breaks_the_contract_in_the_right_place(contract, monkeypatch, name, old, new, claim, given):
    bench = contract(broken(name, old, new))
    test = getattr(bench, f"test_{claim}")
    if "key_is_read" in claim:
        given = (monkeypatch,)
    # What is no AssertionError is the provider's own exception, which fails a test as well.
    with pytest.raises((Exception, pytest.fail.Exception)) as caught:
        test(*given)
    assert not isinstance(caught.value, (NameError, SyntaxError)), "the change itself is wrong"


def test_a_provider_that_keeps_to_no_limit_fails_and_does_not_hang(contract, monkeypatch):
    from helmdeck_testing import contract_runner as module

    bench = contract(broken("fine", "", ""))
    monkeypatch.setattr(module, "_MAX_TEST_S", 0.05)

    async def hang(provider, server):
        await asyncio.Event().wait()

    with pytest.raises(AssertionError, match=r"good: no result within 0\.05 s"):
        bench.run("good", hang)


def test_a_contract_that_misses_something_says_what():
    from helmdeck_testing import ProviderContract

    with pytest.raises(AssertionError, match="Half has no name and no server_format"):
        type("Half", (ProviderContract,), {}).setup_class()
