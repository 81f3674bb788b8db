"""Statuses of final errors for clients that ignore ``x-should-retry``.

Codex sends a request that failed with 5xx up to 30 times, and OpenCode has no limit. When the gateway has used up its own
retries, these clients get 424 (failed dependency) instead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from starlette.types import Message, Scope, Send

AGENTS: Final = (b"codex", b"opencode")
"""In lower case, in the user agents of such clients."""
FINAL_STATUS: Final = 424


def ends_retries(scope: Scope, send: Send) -> Send:
    """Return the function that sends the response to this client."""
    user_agent = next((value for name, value in scope["headers"] if name == b"user-agent"), b"").lower()
    if not any(agent in user_agent for agent in AGENTS):
        return send

    async def send_final(message: Message) -> None:
        is_error = message["type"] == "http.response.start" and message["status"] >= 500
        if is_error and (b"x-should-retry", b"false") in message["headers"]:
            message["status"] = FINAL_STATUS
        await send(message)

    return send_final
