"""Stop reasons of Ollama's own chat API."""

from __future__ import annotations

from collections.abc import Mapping

from helmdeck_core import Disposition, StopReason

REASONS: Mapping[str, StopReason] = {
    "stop": StopReason.END_TURN,
    "length": StopReason.MAX_TOKENS,
}
DISPOSITIONS: Mapping[str, Disposition] = {
    "load": Disposition.STOP,  # the request contained no message to answer
    "unload": Disposition.STOP,
}
