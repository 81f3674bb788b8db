"""Failures of tool calls: each has a cause, a hint, and the next action."""

from __future__ import annotations

from typing import Any

import attrs

from helmdeck_core import PackError, PackErrorCode


@attrs.frozen
class ToolError(PackError):
    """A call of a tool failed.

    :ivar cause: why, such as ``tool_error``, ``invalid_arguments``, ``protocol_error``, ``connection_lost``, ``timeout``,
        ``result_too_large``, ``unauthorized``, ``unavailable`` or ``server_down``.
    :ivar hint: what this means.
    :ivar next_action: what to do about it.
    """

    cause: str = ""
    hint: str = ""
    next_action: str = ""

    def __str__(self) -> str:
        return f"{self.pack}: {self.code.value}: {self.detail}; {self.hint}; next: {self.next_action}"

    @property
    def retryable(self) -> bool:
        """Whether the same call may succeed later."""
        return self.cause in ("connection_lost", "timeout", "server_down", "unavailable")

    def to_dict(self) -> dict[str, Any]:
        """Return the failure as plain data."""
        more = {"cause": self.cause, "hint": self.hint, "next_action": self.next_action}
        return {**super().to_dict(), **more}


_TEXTS: dict[str, tuple[PackErrorCode, str, str]] = {
    "tool_error": (
        PackErrorCode.HANDLER_FAILED,
        "the tool itself reports that it failed",
        "correct what the message names, then run it again",
    ),
    "invalid_arguments": (
        PackErrorCode.INVALID_INPUT,
        "the server rejected the arguments",
        "correct the arguments named in the message; `helmdeck catalog show --json` prints the schema",
    ),
    "protocol_error": (
        PackErrorCode.HANDLER_FAILED,
        "the server answered with an error of the protocol and not with a result of the tool",
        "check that the server still has this tool; `helmdeck doctor` lists the tools of every server",
    ),
    "invalid_result": (
        PackErrorCode.INVALID_OUTPUT,
        "the answer of the server is not a valid tool result",
        "report it to the author of the server",
    ),
    "needs_input": (
        PackErrorCode.HANDLER_FAILED,
        "the tool asks for input or for a model during the call, which is declined",
        "pass everything that the tool needs in its arguments",
    ),
    "result_too_large": (
        PackErrorCode.INVALID_OUTPUT,
        "larger answers are not read",
        "ask for less, such as a part of the file; or raise max_result_bytes of the server",
    ),
    "timeout": (
        PackErrorCode.TIMEOUT,
        "the call was cancelled; the tool may have done a part of its work",
        "raise call_timeout_s of the server, or ask for less",
    ),
    "connection_lost": (
        PackErrorCode.HANDLER_FAILED,
        "the connection ended during the call; the tool may have done its work; the server is started again",
        "check the effect of the tool, then run it again",
    ),
    "unauthorized": (
        PackErrorCode.HANDLER_FAILED,
        "the server rejected the credentials of the call, which did nothing",
        "renew the credentials in headers of the server; a file that `file:PATH` names is read again",
    ),
    "unavailable": (
        PackErrorCode.HANDLER_FAILED,
        "the server refuses calls at the moment, such as for its rate limit",
        "run it again later",
    ),
    "server_down": (
        PackErrorCode.HANDLER_FAILED,
        "the server is not connected; it is tried again with growing intervals",
        "start or repair the server; `helmdeck doctor` shows its state",
    ),
}


def tool_error(entry_id: str, cause: str, detail: str) -> ToolError:
    """Return the failure of a call.

    :param detail: cleaned and redacted.
    """
    code, hint, next_action = _TEXTS[cause]
    return ToolError(entry_id, code, detail, cause=cause, hint=hint, next_action=next_action)
