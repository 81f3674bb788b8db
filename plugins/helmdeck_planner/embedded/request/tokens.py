"""The tokens of a request by their place."""

from __future__ import annotations

from collections.abc import Sequence

from helmdeck_language import Token


def token_at(tokens: Sequence[Token], place: int) -> Token | None:
    """Return the token at a place; ``None`` outside of the tokens."""
    return tokens[place] if 0 <= place < len(tokens) else None
