"""The prompts of the server: how a client's user starts a plan or a route."""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from helmdeck_mcp.server.tools import PLAN, ROUTE


@attrs.frozen
class Prompt:
    """A prompt with one argument, ``intent``.

    :ivar text: the message; ``{intent}`` is replaced once, so braces in the request stay as they are.
    """

    name: str
    title: str
    description: str
    text: str

    def message(self, intent: str) -> str:
        """Return the message for a request."""
        return self.text.replace("{intent}", intent)


PROMPTS: Mapping[str, Prompt] = {
    "plan": Prompt(
        "plan",
        "Plan a request",
        "Plan a request over all tools, then run the steps.",
        f"Call the tool {PLAN} with the request below as its intent. Then run the steps of the plan in order, each with "
        "the tool and the arguments that it names; ask me for arguments that are missing, and before a step that deletes "
        "or sends something. If the plan says that more steps are likely, plan again with the finished steps in `done`.\n\n"
        "The request:\n{intent}",
    ),
    "route": Prompt(
        "route",
        "Find the tool for a request",
        "Find the one tool or pipeline that serves a request.",
        f"Call the tool {ROUTE} with the request below as its intent. Tell me which tool or pipeline it recommends, with "
        "which inputs, and what no tool serves. Do not run it yet.\n\nThe request:\n{intent}",
    ),
}
