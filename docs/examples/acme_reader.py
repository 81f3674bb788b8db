"""A reader of tool calls that accepts native calls only; text is never searched for calls."""

import json

from helmdeck_core import MalformedCall, RecoveredCall, StopReason, ToolCallReaderSpec, ToolCalls, hookimpl


class NativeOnly:
    """Calls may be executed only if the turn ended for them and all arguments are JSON."""

    def read(self, text, **options):
        return ToolCalls(text=text)

    def judge(self, response, *, tools=None, model="", partial=False):
        calls, broken = [], []
        for call in response.tool_calls:
            try:
                calls.append(RecoveredCall(call, json.loads(call.arguments)))
            except ValueError as exc:
                broken.append(
                    MalformedCall("native", "malformed", f"the arguments are not JSON: {exc}", call.name, call.id)
                )
        ended = response.stop_reason is StopReason.TOOL_CALL and not broken
        found = {"calls": tuple(calls)} if ended or partial else {"withheld": tuple(calls), "is_truncated": True}
        return ToolCalls(text=response.text, broken=tuple(broken), **found)


@hookimpl
def helmdeck_tool_call_readers():
    """The reader with the lowest order is used; the order of the built-in one is 0."""
    return [ToolCallReaderSpec(name="native-only", open=lambda context: NativeOnly(), order=-1)]
