"""Waits for an answer that a provider makes in the background: looks at it until it is there, and gives it up in time.

An answer that nobody waits for any more goes on and is paid for, unless the provider is told to stop.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from typing import Any

import attrs

from helmdeck_core import CallFailed, LikelyTimeout
from helmdeck_core.redaction import Secrets
from helmdeck_provider_kit.bodies import checked
from helmdeck_provider_kit.connection import HttpConnection, HttpResponse
from helmdeck_provider_kit.failures import ErrorRules

SLOWER = 1.5
"""Each wait is this much longer than the one before."""
LONGEST_S = 5.0
MOST_FAILURES = 3
"""Looks in a row that may fail before the answer is given up; it goes on being made, whatever a look meets."""
CANCEL_S = 0.25
"""Seconds for telling the provider to stop, after which whoever waits is let go."""


@attrs.frozen(kw_only=True)
class Background:
    """How answers in the background are looked at.

    :ivar path: takes the body of an answer; where to look at it, from the base URL on, and empty for one that is done.
    :ivar cancel: what follows on the path to stop it.
    :ivar pause_s: seconds before the first look.
    """

    path: Callable[[Any], str]
    cancel: str
    pause_s: float = 0.5


async def waited_for(
    connection: HttpConnection,
    background: Background,
    path: str,
    headers: Mapping[str, str],
    secrets: Secrets,
    words: ErrorRules,
    timeout_s: float,
) -> tuple[HttpResponse, Any]:
    """The answer when it is done, and its decoded body.

    :param words: what the words of the family's errors mean.
    :param timeout_s: seconds after which it is given up.
    :raises CallFailed: it was given up, or cannot be looked at.
    """
    pause_s, failures = background.pause_s, 0
    scope = asyncio.timeout(timeout_s)
    try:
        async with scope:
            while True:
                await asyncio.sleep(pause_s)
                pause_s = min(pause_s * SLOWER, LONGEST_S)
                try:
                    received = await connection.get(path, headers, secrets)
                    body = checked(received.status, received.headers, received.body, words, secrets)
                except CallFailed as exc:
                    failures += 1
                    if not exc.retryable or failures > MOST_FAILURES:
                        raise
                    pause_s = max(pause_s, exc.retry_after_s or 0.0)
                else:
                    failures = 0
                    if not background.path(body):
                        return received, body
    except BaseException as exc:
        await cancel(connection, background, path, headers, secrets)
        if not scope.expired():
            raise
        detail = f"after {timeout_s:g} s it was still being made in the background, and was cancelled"
        raise LikelyTimeout("the provider did not answer in time", sub_cause="pending", detail=detail) from exc


async def cancel(
    connection: HttpConnection, background: Background, path: str, headers: Mapping[str, str], secrets: Secrets
) -> None:
    """Tell the provider to stop; whatever comes of it, whoever waits is let go."""
    with contextlib.suppress(CallFailed, TimeoutError):
        async with asyncio.timeout(CANCEL_S):
            await connection.post(path + background.cancel, b"{}", headers, secrets)
