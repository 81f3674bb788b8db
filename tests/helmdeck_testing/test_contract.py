"""The provider contract detects defects: each defect in the example provider fails the matching test."""

import asyncio
import importlib
import sys
import types
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "docs" / "examples"
SOURCE = (EXAMPLES / "acme_stream.py").read_text(encoding="utf-8")

REQUESTS = [
    ("only_the_last_message", "in request.messages\n", "in request.messages[-1:]\n", "request_contains_messages_tools_and_limit", ()),
    ("no_limit", 'body["limit"] = request.max_tokens', "pass", "request_contains_messages_tools_and_limit", ()),
    ("no_tools", "if request.tools:", "if False:", "request_contains_messages_tools_and_limit", ()),
    ("its_own_name", 'request.model.partition("/")[2]', "request.model", "request_contains_messages_tools_and_limit", ()),
    ("no_roles", "message.role.value", '"user"', "roles_are_distinguished", ()),
    ("silent", '("temperature", "stop")', "()", "optional_field_is_sent_or_reported_as_downgrade", ("temperature",)),
    ("formatless", 'downgrades.append(f"response_format', '(f"response_format', "optional_field_is_sent_or_reported_as_downgrade", ("json_schema",)),
    ("no_extra", "**request.extra", "", "extra_fields_are_sent_unchanged", ()),
    ("no_images", "if isinstance(part, ImagePart)]", "if False]", "image_is_sent_or_rejected", ()),
    ("an_old_key", "self._connection.key()\n", "K.setdefault(1, self._connection.key())\n", "key_is_read_for_every_request", ()),
    ("twice", 'whole = await self._connection.post("/generate", body, headers, secrets)', 'whole = await self._connection.post("/generate", body, headers, secrets)\n        whole = await self._connection.post("/generate", body, headers, secrets)', "provider_sends_one_request_without_retry_or_redirect", ("unavailable",)),
]  # fmt: skip
ANSWERS = [
    ("made_up_end", 'self.fields.get("why")\n', 'self.fields.get("why") or "done"\n', "unknown_or_missing_stop_reason_is_not_a_clean_end", ()),
    ("made_up_reasons", '"done": StopReason.END_TURN', '"oops": StopReason.END_TURN, "done": StopReason.END_TURN', "unknown_or_missing_stop_reason_is_not_a_clean_end", ()),
    ("no_calls", 'event.get("calls") or ()', "()", "tool_call_is_parsed_and_is_the_stop_reason", ()),
    ("late_calls", "yield ChatDelta(tool_call=", "(", "tool_call_is_parsed_and_is_the_stop_reason", ()),
    ("any_call_counts", "stop_reason=in_context(strict, text=self.text, tool_calls=self.calls, is_at_limit=is_at_limit)", "stop_reason=StopReason.TOOL_CALL if self.calls else strict", "tool_call_in_a_truncated_turn_is_not_the_stop_reason", ()),
    ("no_cache", 'cached_input_tokens=count(fields, "cached"),', "", "cached_input_tokens_are_part_of_input_tokens", ()),
    ("no_quota", 'quota_metadata=quota(self.headers, ("acme-left-",), self.secrets),', "", "response_has_served_model_quota_and_request_id", ()),
    ("no_request_id", "request_id=request_id(self.headers, self.secrets),", "", "response_has_served_model_quota_and_request_id", ()),
    ("no_model", 'served_model=echoed(string(fields.get("model")), self.secrets),', "", "response_has_served_model_quota_and_request_id", ()),
    ("trusts_http_200", "if (facts := read_error(event)) is not None:", "if False:", "each_failure_mode_has_its_failure_class", ("error_in_200",)),
    ("page_as_stream", "if incoming.is_whole:", "if incoming.status != 200:", "each_failure_mode_has_its_failure_class", ("html_page",)),
    ("no_shape_check", "if not isinstance(event, dict) or", "if False and", "each_failure_mode_has_its_failure_class", ("alien_json",)),
    ("bare_exception", "raise TransientUnknown(", "raise ValueError(", "each_failure_mode_has_its_failure_class", ("alien_json",)),
    ("reasoning_in_text", "yield ChatDelta(reasoning_content=reasoning)", "self.text += reasoning\n            yield ChatDelta(text=reasoning)", "each_failure_mode_has_its_failure_class", ("draft_in_reasoning",)),
    ("leaks_secret", "{}, self._connection.secrets(key)", "{}, ()", "failures_contain_no_secret", ("unavailable",)),
    ("no_limits", "HttpConnection(settings)", "HttpConnection(attrs.evolve(settings, max_response_bytes=10**9))", "response_above_max_response_bytes_fails", ()),
    ("two_ends", "yield accumulator.response(request, self._context, downgrades)", "yield accumulator.response(request, self._context, downgrades)\n        yield accumulator.response(request, self._context, downgrades)", "response_has_text_usage_and_stop_reason", ()),
    ("wrong_models", "ModelInfo(id=name)", 'ModelInfo(id=f"acme/{name}")', "model_list_has_the_names_used_in_requests", ()),
    ("one_answer_for_all", "accumulator = Accumulator(whole.headers, secrets)", "accumulator = K.setdefault(2, Accumulator(whole.headers, secrets))", "concurrent_requests_get_their_own_responses", ()),
    ("closed_once", "await self._connection.aclose()", 'await self.__dict__.pop("_connection").aclose()', "close_is_idempotent", ()),
]  # fmt: skip


@pytest.fixture
def contract(monkeypatch):
    """Returns a function that creates the contract for a plugin."""
    monkeypatch.syspath_prepend(str(EXAMPLES))
    created = []

    def of(plugin):
        kind = importlib.import_module("test_acme_stream").TestAcmeStream
        created.append(type("Broken", (kind,), {"plugin": plugin, "ways": property(lambda self: (False, True))}))
        created[-1].setup_class()
        for name, value in kind.environ.items():
            monkeypatch.setenv(name, value)
        return created[-1]()

    yield of
    for each in created:
        each._server.close()
    for name in ("acme_stream", "test_acme_stream"):
        sys.modules.pop(name, None)


def with_defect(name, old, new):
    assert old in SOURCE, old
    module = types.ModuleType(name)
    module.K = {}
    exec(compile(SOURCE.replace(old, new), name, "exec"), vars(module))
    return module


@pytest.mark.parametrize(
    ("name", "old", "new", "claim", "arguments"), [*REQUESTS, *ANSWERS], ids=lambda each: str(each)[:24]
)
def test_defect_fails_the_matching_contract_test(contract, monkeypatch, name, old, new, claim, arguments):
    bench = contract(with_defect(name, old, new))
    test = getattr(bench, f"test_{claim}")
    if "key_is_read" in claim:
        arguments = (monkeypatch,)
    # Any other exception is the provider's own, which fails a test as well.
    with pytest.raises((Exception, pytest.fail.Exception)) as caught:
        test(*arguments)
    assert not isinstance(caught.value, (NameError, SyntaxError)), "the change itself is wrong"


def test_hanging_provider_fails_the_contract(contract, monkeypatch):
    from helmdeck_testing import provider_contract_runner as module

    bench = contract(with_defect("fine", "", ""))
    monkeypatch.setattr(module, "_MAX_TEST_S", 0.05)

    async def hang(provider, server):
        await asyncio.Event().wait()

    with pytest.raises(AssertionError, match=r"good: no result within 0\.05 s"):
        bench.run("good", hang)


def test_incomplete_contract_names_the_missing_attributes():
    from helmdeck_testing import ProviderContract

    with pytest.raises(AssertionError, match="Half has no name and no server_format"):
        type("Half", (ProviderContract,), {}).setup_class()
