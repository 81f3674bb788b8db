"""Failures as plain data and as text: cause, hint and next action, for a model that reads a tool result."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from helmdeck_core import (
    CallFailed,
    CatalogError,
    ConfigError,
    HelmdeckError,
    PackError,
    PluginError,
    did_you_mean,
)

MAX_MESSAGE_CHARS = 4_000
"""A longer message is truncated: it may quote the output of a tool."""


CALL_A_LISTED_TOOL = "call a tool that tools/list shows"


CHECK_THE_SERVER = "try again later, or ask the operator to check the server; `helmdeck doctor` shows its state"


class UnknownTool(HelmdeckError):
    """A tool name that does not exist.

    :param name: the unknown name.
    :param known: all names that the client can see.
    :param likely: names that the ranker finds for the words of the unknown one.
    :param next_action: where the client sees the names that exist.
    :param problem: of the server that the name belongs to, whose tools are missing for it.
    """

    def __init__(
        self,
        name: str,
        known: Iterable[str],
        likely: Iterable[str] = (),
        *,
        next_action: str = CALL_A_LISTED_TOOL,
        problem: str = "",
    ) -> None:
        self.name = name
        self.likely: tuple[str, ...] = () if problem else tuple(likely)
        self.next_action: str = CHECK_THE_SERVER if problem else next_action
        super().__init__(f"there is no tool {name!r}{f': {problem}' if problem else did_you_mean(name, known)}")


def failure_data(error: Exception) -> dict[str, Any]:
    """Return the failure with at least ``cause``, ``message``, ``hint``, ``next_action`` and ``retryable``.

    The message of an unexpected exception is withheld, because it may quote anything; the log has it.
    """
    match error:
        case CallFailed():
            return error.to_dict()
        case PackError():
            return {"hint": error.detail, **error.to_dict()}
        case UnknownTool():
            near = f"one of these may be meant: {', '.join(error.likely)}" if error.likely else str(error)
            facts: dict[str, Any] = {"likely": list(error.likely)} if error.likely else {}
            return _facts("unknown_tool", error, near, error.next_action) | facts
        case ConfigError() | CatalogError():
            action = "ask the operator to correct the configuration; `helmdeck config check` shows every mistake"
            return _facts("invalid_configuration", error, "the deployment is not configured correctly", action)
        case PluginError():
            return _facts("plugin_failed", error, error.detail, "ask the operator to check or block the plugin")
        case HelmdeckError():
            return _facts("failed", error, str(error), "change what the message names, and call the tool again")
        case _:
            name = type(error).__name__
            hint = "the server has an error of its own; its log has the details"
            return {
                **_facts("internal", error, hint, "report the error to the operator"),
                "message": f"unexpected {name}",
            }


def _facts(cause: str, error: Exception, hint: str, next_action: str) -> dict[str, Any]:
    return {
        "class": type(error).__name__,
        "cause": cause,
        "retryable": False,
        "message": str(error)[:MAX_MESSAGE_CHARS],
        "hint": hint[:MAX_MESSAGE_CHARS],
        "next_action": next_action,
    }


def failure_text(tool: str, data: Mapping[str, Any]) -> str:
    """Return the failure as lines of text, for clients that show a model only text."""
    # The message of a failed pack repeats its name, its detail, and sometimes the hint and the next action.
    reason = data["detail"] if "pack" in data else data["message"]
    lines = [f"{tool} failed: {reason}", f"cause: {data['cause']}"]
    lines += [f"hint: {data['hint']}"] if data.get("hint") and data["hint"] != reason else []
    lines += [f"next: {data['next_action']}"] if data.get("next_action") else []
    return "\n".join(lines)[: 2 * MAX_MESSAGE_CHARS]
