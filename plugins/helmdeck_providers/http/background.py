"""Polls background responses until they are complete or the timeout expires.

An abandoned response is cancelled, since the provider would otherwise continue to generate it and bill for it.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from typing import Any

import attrs

from helmdeck_core import CallFailed, LikelyTimeout, Secrets
from helmdeck_providers.http.bodies import decode_body
from helmdeck_providers.http.connection import HttpConnection, HttpResponse
from helmdeck_providers.http.error_rules import ErrorRules

PAUSE_FACTOR = 1.5
"""Growth of the pause between two polls."""
MAX_PAUSE_S = 5.0
MAX_FAILURES = 3
"""Consecutive failed polls that are tolerated; a failed poll does not affect the response itself."""
CANCEL_TIMEOUT_S = 1.0
"""Timeout of the cancel request, in seconds: a new connection and a round trip, and no longer, since a caller waits for it."""


@attrs.frozen(kw_only=True)
class Background:
    """How background responses are polled.

    :ivar path: takes a response body and returns the path to poll, relative to the base URL; empty if it is complete.
    :ivar cancel: path suffix of the cancel request.
    :ivar pause_s: seconds before the first poll.
    """

    path: Callable[[Any], str]
    cancel: str
    pause_s: float = 0.5


async def poll_until_done(
    connection: HttpConnection,
    background: Background,
    path: str,
    headers: Mapping[str, str],
    secrets: Secrets,
    rules: ErrorRules,
    timeout_s: float,
) -> tuple[HttpResponse, Any]:
    """Return the completed response and its decoded body; cancel it on failure.

    :param rules: map error responses to failure classes.
    :raises CallFailed: the timeout expired, or polling failed.
    """
    pause_s, failures = background.pause_s, 0
    scope = asyncio.timeout(timeout_s)
    try:
        async with scope:
            while True:
                await asyncio.sleep(pause_s)
                pause_s = min(pause_s * PAUSE_FACTOR, MAX_PAUSE_S)
                try:
                    response = await connection.get(path, headers, secrets)
                    body = decode_body(response.status, response.headers, response.body, rules, secrets)
                except CallFailed as exc:
                    failures += 1
                    if not exc.retryable or failures > MAX_FAILURES:
                        raise
                    pause_s = max(pause_s, exc.retry_after_s or 0.0)
                else:
                    failures = 0
                    if not background.path(body):
                        return response, body
    except BaseException as exc:
        await cancel(connection, background, path, headers, secrets)
        if not scope.expired():
            raise
        detail = f"the background response was not complete after {timeout_s:g} s and was cancelled"
        raise LikelyTimeout("the provider did not answer in time", sub_cause="pending", detail=detail) from exc


async def cancel(
    connection: HttpConnection, background: Background, path: str, headers: Mapping[str, str], secrets: Secrets
) -> None:
    """Cancel a background response, best effort."""
    with contextlib.suppress(CallFailed, TimeoutError):
        async with asyncio.timeout(CANCEL_TIMEOUT_S):
            await connection.post(path + background.cancel, b"{}", headers, secrets)
