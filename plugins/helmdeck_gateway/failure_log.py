"""Logs what clients are not shown: the traceback of an unexpected error, under the id that the client's error has."""

from __future__ import annotations

import os
import traceback
from collections.abc import Mapping
from typing import Final

import attrs

from helmdeck_core import CallFailed, Helmdeck, ProviderPool, Secrets, redacted
from helmdeck_core.log import logger
from helmdeck_gateway.accounts.principals import KEY, key_of
from helmdeck_gateway.calls.request_ids import request_id_of
from helmdeck_gateway.problems import Problem, problem_of, without_addresses

MAX_CHARS: Final = 20_000
MAX_FRAMES: Final = 25
"""Frames of a traceback that are logged, the innermost ones."""


class FailureLog:
    """Turns exceptions into errors for clients, and logs those that are not the client's fault."""

    def __init__(self, deck: Helmdeck) -> None:
        self._deck = deck

    def problem(self, error: Exception, headers: Mapping[bytes, bytes], call_id: str = "") -> Problem:
        """Return the error for a client.

        :param headers: those of the client's request.
        """
        problem = problem_of(error)
        if isinstance(error, CallFailed) and without_addresses(error) is not error:
            logger().bind(call_id=error.call_id or call_id).warning(
                "a call failed: {}: {}", error.headline, error.detail
            )
        if problem.status != 500:
            return problem
        request_id = request_id_of(headers) or os.urandom(8).hex()
        text = "".join(traceback.format_exception(error, limit=-MAX_FRAMES))
        bound = logger().bind(request_id=request_id, call_id=call_id, code=problem.code)
        bound.error("the gateway failed to process a request\n{}", self._redacted(text, headers))
        return attrs.evolve(problem, details={**problem.details, "request_id": request_id})

    def _redacted(self, text: str, headers: Mapping[bytes, bytes]) -> str:
        """A text without the keys of providers and clients."""
        registry = ProviderPool(self._deck.runtime).registry
        secrets = [*registry.secrets(*registry.names), key_of(headers).decode("latin-1")]
        text = redacted(KEY.sub("[redacted]", text), Secrets(each for each in secrets if len(each) >= 8), MAX_CHARS)
        pattern = self._deck.runtime.secret_pattern
        return text if pattern is None else pattern.sub("[redacted]", text)
