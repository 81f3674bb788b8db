"""What others said, made safe to show: without secrets, in one line, bounded."""

from __future__ import annotations

import re
from collections.abc import Iterable

from helmdeck_core.hiding import REDACTED, Secrets, without_cut_secret
from helmdeck_core.hiding import redacted as redacted

MAX_DETAIL_CHARS = 300
"""Of what a provider says about a failure."""
MAX_EXCERPT_CHARS = 200
"""Of what a model wrote, in a failure."""
MAX_ECHO_CHARS = 200
"""Of a short field of an answer."""
MAX_READ_CHARS = 4_000
"""More of an error text than this is not even looked at."""
_SECRET_SHAPES = (
    re.compile(r"(?i)\b(bearer|basic)\s+[^\s\"',;]+"),
    re.compile(r"\b(?:sk|pk|rk|gsk|xai|nvapi|hf|r8|fw)[-_][\w*.\-]{6,}|\bAIza[\w\-]{10,}"),
    re.compile(r"(?i)\b(?:api[ _-]?key|authorization|access[ _-]?token)\b[^:=\n]{0,12}[:=]\s*\"?[^\s\"',;}]+"),
)


def quoted(text: str, secrets: Iterable[str] = (), limit: int = MAX_DETAIL_CHARS) -> str:
    """Return text that is safe to show: no secret, no control character, one line, at most ``limit`` characters."""
    secrets = Secrets.of(secrets)
    # Secrets go before anything is cut and before blanks become fewer, so that no half of one can stay.
    text = redacted(text, secrets, MAX_READ_CHARS)
    for shape in _SECRET_SHAPES:
        text = shape.sub(REDACTED, text)
    line = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    # A secret with blanks in it may have come with other ones.
    line = redacted(line, [" ".join(secret.split()) for secret in secrets if " " in secret], MAX_READ_CHARS)
    if len(line) > limit:
        return without_cut_secret(line[: limit - 1], secrets) + "…"
    # Whoever sent the text may have cut it as well.
    return without_cut_secret(line, secrets)


def echoed(word: str, secrets: Iterable[str] = ()) -> str:
    """Return a short field of an answer as it came, bounded and without secrets.

    Nothing is guessed from its shape, because the name of a model may look like a key.
    """
    secrets = Secrets.of(secrets)
    if len(word) < secrets.shortest and len(word) <= MAX_ECHO_CHARS:
        return word  # as nearly all are
    clean = redacted(word, secrets, MAX_ECHO_CHARS)
    return clean if max(len(word), len(clean)) <= MAX_ECHO_CHARS else clean[: MAX_ECHO_CHARS - 1] + "…"


def plain_text(body: bytes, secrets: Iterable[str] = ()) -> str:
    """What the beginning of a body that is not JSON says: the title of a page, or its text without tags."""
    secrets = Secrets.of(secrets)
    window = MAX_READ_CHARS + secrets.longest
    text = redacted(body[:window].decode("utf-8", "replace"), secrets, MAX_READ_CHARS)
    if len(body) > window:  # of characters that take several bytes, fewer than the limit are there
        text = without_cut_secret(text, secrets)
    title = re.search(r"(?i)<title[^>]*>([^<]*)", text)
    return title[1].strip() if title else re.sub(r"<[^>]*>", " ", text).strip()
