"""Checks of what a gateway stores for its clients: responses in the background, conversations, items and files."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from typing import Any, Final

from benchmarks.gateway_sdks.checks import PDF, PROMPT, CheckFailed, Client, Reply, check_equal
from benchmarks.gateway_sdks.upstream import TEXT


def _stored(client: Client, case: str, model: str = "plain", **fields: Any) -> Reply:
    reply = client.send("stored", case=case, model=f"up/{model}", **fields)
    if error := reply.get("error"):
        raise CheckFailed(f"{error['class']}: {error['message']}")
    return reply


def _background(client: Client) -> None:
    reply = _stored(client, "background", text=PROMPT)
    check_equal((reply["first"], reply["last"], reply["text"]), ("queued", "completed", TEXT))


def _resumed(client: Client) -> None:
    reply = _stored(client, "resumed", text=PROMPT, events=3)
    check_equal((reply["numbers"], reply["text"]), (list(range(len(reply["numbers"]))), TEXT))


def _cancelled(client: Client) -> None:
    client.upstream.dropped.clear()
    check_equal(_stored(client, "cancelled", "cancel", text=PROMPT)["last"], "cancelled")
    if not client.upstream.dropped.wait(10):
        raise CheckFailed("the request to the model continues")


def _previous(client: Client) -> None:
    check_equal(
        _stored(client, "previous", "multi-turn", texts=[PROMPT, "And the moon?"])["text"], "user assistant user"
    )


def _conversation(client: Client) -> None:
    reply = _stored(client, "conversation", "multi-turn", texts=[PROMPT, "And the moon?"])
    check_equal(reply["text"], "user assistant user")
    check_equal(reply["roles"], ["user", "assistant", "user", "assistant"])


def _input_items(client: Client) -> None:
    check_equal(
        _stored(client, "input_items", texts=[PROMPT, "And the moon?"])["texts"], [PROMPT, TEXT, "And the moon?"]
    )


def _references(client: Client) -> None:
    check_equal(_stored(client, "references", "multi-turn", text=PROMPT)["text"], "user assistant user")


def _unknown_reference(client: Client) -> None:
    reply = client.send("stored", case="unknown_reference", model="up/plain", id="msg_0000")
    if (error := reply.get("error")) is None:
        raise CheckFailed(f"no error but {reply.get('text')!r:.80}")
    check_equal((error["status"], "msg_0000" in error["message"]), (404, True))


def _file(client: Client) -> None:
    reply = _stored(client, "file", "pdf", data=base64.b64encode(PDF).decode())
    check_equal(reply["text"], f"application/pdf, {len(PDF)} bytes")
    check_equal((base64.b64decode(reply["data"]), reply["listed"], reply["after"]), (PDF, True, 404))


STORED_CHECKS: Final[Mapping[str, Callable[[Client], None]]] = {
    "response in the background": _background,
    "background stream, resumed": _resumed,
    "cancel in the background": _cancelled,
    "previous response": _previous,
    "conversation": _conversation,
    "list of input items": _input_items,
    "items named by reference": _references,
    "unknown reference": _unknown_reference,
    "stored file": _file,
}
"""The checks by their name in the table."""
