"""Final errors for clients that ignore ``x-should-retry``.

Codex sends a request that failed with 5xx up to 30 times, Gemini CLI 10 times with growing waits, and OpenCode has no limit. When the gateway has used up its own
retries, these clients get 424 (failed dependency) instead. OpenCode also repeats a request whose error mentions a status or an
overloaded or unavailable provider, so its errors name the call only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

import msgspec

if TYPE_CHECKING:
    from starlette.types import Message, Send

AGENTS: Final = (b"codex", b"opencode", b"geminicli")
"""In lower case, in the user agents of such clients."""
READS_ERRORS: Final = b"opencode"
"""The user agent of the client that decides by the text of an error."""
FINAL_STATUS: Final = 424
FINAL_CODE: Final = "all_models_failed"


def ends_retries(headers: Mapping[bytes, bytes], send: Send) -> Send:
    """Return the function that sends the response to this client."""
    user_agent = headers.get(b"user-agent", b"").lower()
    if not any(agent in user_agent for agent in AGENTS):
        return send
    if READS_ERRORS in user_agent:
        return _FinalErrors(send, _short).send
    return _FinalErrors(send, _without_status if b"geminicli" in user_agent else None).send


class _FinalErrors:
    """Sends one response; a final error with another status.

    :param rewrite: returns another body for a final error; ``None`` to leave it.
    """

    def __init__(self, send: Send, rewrite: Callable[[bytes], bytes] | None) -> None:
        self._send = send
        self._rewrite = rewrite
        self._start: Message | None = None

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            is_final = message["status"] >= 500 and (b"x-should-retry", b"false") in message["headers"]
            if is_final:
                message["status"] = FINAL_STATUS
                message["headers"] = [each for each in message["headers"] if not each[0].startswith(b"retry-after")]
                if self._rewrite is not None:
                    self._start = message  # its length depends on the body
                    return
        elif self._start is not None and self._rewrite is not None:
            start, self._start = self._start, None
            message["body"] = self._rewrite(message["body"])
            length = (b"content-length", str(len(message["body"])).encode())
            start["headers"] = [length if name == length[0] else (name, value) for name, value in start["headers"]]
            await self._send(start)
        await self._send(message)


def _without_status(body: bytes) -> bytes:
    """Return an error in Google's form that repeats no status of the gateway."""
    payload: dict[str, Any] = msgspec.json.decode(body)
    error = payload["error"]
    if isinstance(error.get("details"), list):
        details = [each for each in error["details"] if not each["@type"].endswith("RetryInfo")]
        payload["error"] = {**error, "code": FINAL_STATUS, "status": "FAILED_PRECONDITION", "details": details}
    return msgspec.json.encode(payload)


def _short(body: bytes) -> bytes:
    """Return an error without its cause."""
    payload: dict[str, Any] = msgspec.json.decode(body)
    call_id = payload["error"].get("call_id")
    hint = f"; helmdeck explain --run {call_id} shows the attempts" if call_id else ""
    payload["error"] = {"message": f"no model answered{hint}", "type": "api_error", "param": None, "code": FINAL_CODE}
    return msgspec.json.encode(payload)
