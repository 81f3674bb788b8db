"""Input prices and caching rules of providers.

Rules are those of the providers' documentation as of November 2026. Prices are US dollars per million input tokens: those
of cached input from the built-in budget table (June 2026), those of other input from the discounts that came with it.
"""

from __future__ import annotations

import attrs

BYTES_PER_TOKEN = 3.5
"""Compact JSON and short English; all layouts are measured with the same figure, so that ratios do not depend on it."""


@attrs.frozen
class Sent:
    """A prompt as it was sent.

    :ivar text: all messages, concatenated.
    :ivar mark: where the marked prefix ends; 0 without a mark.
    """

    text: bytes
    mark: int


@attrs.frozen(kw_only=True)
class Rules:
    """How one provider caches.

    :ivar input_usd: price of input that is not cached; ``cached_usd`` of input that is, ``write_usd`` of input that is
        written to the cache.
    :ivar min_tokens: minimum length of a cached prefix.
    :ivar step_tokens: granularity of hits in tokens.
    :ivar ttl_s: lifetime of a prefix after its last use.
    :ivar needs_mark: only prefixes that end at a marker are cached; otherwise any repeated prefix is.
    :ivar seen_before: number of earlier occurrences before a prefix is a hit.
    """

    name: str
    input_usd: float
    cached_usd: float
    write_usd: float
    min_tokens: int
    step_tokens: int
    ttl_s: float
    needs_mark: bool = False
    seen_before: int = 1


ANTHROPIC = Rules(
    name="Anthropic, 5 minutes", input_usd=3.0, cached_usd=0.3, write_usd=3.75,
    min_tokens=1_024, step_tokens=1, ttl_s=300, needs_mark=True,
)  # fmt: skip
ANTHROPIC_HOUR = attrs.evolve(ANTHROPIC, name="Anthropic, 1 hour", write_usd=6.0, ttl_s=3_600)
OPENAI = Rules(
    name="OpenAI", input_usd=2.5, cached_usd=1.25, write_usd=2.5, min_tokens=1_024, step_tokens=128, ttl_s=450
)
GEMINI = Rules(
    name="Gemini", input_usd=1.25, cached_usd=0.125, write_usd=1.25, min_tokens=2_048, step_tokens=1, ttl_s=240
)
DEEPSEEK = Rules(
    name="DeepSeek", input_usd=0.435, cached_usd=0.0145, write_usd=0.435,
    min_tokens=64, step_tokens=64, ttl_s=7_200, seen_before=2,
)  # fmt: skip
"""The relay's price; a common beginning is stored once two requests have shown that it is one."""


@attrs.define
class Bill:
    """Totals of a run."""

    tokens: float = 0.0
    cached_tokens: float = 0.0
    steady_tokens: float = 0.0
    steady_cached: float = 0.0
    usd: float = 0.0
    calls: int = 0

    @property
    def usd_per_1000(self) -> float:
        """US dollars for the input of a thousand calls."""
        return self.usd / self.calls * 1_000

    @property
    def cached_share(self) -> float:
        """Cached input of all input."""
        return self.cached_tokens / self.tokens

    @property
    def steady_share(self) -> float:
        """Cached input of what was meant to stay the same."""
        return self.steady_cached / self.steady_tokens if self.steady_tokens else 0.0


class Cache:
    """The cache of one provider, for the requests of one account."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.bill = Bill()
        self._marked: dict[bytes, float] = {}
        self._seen: list[tuple[float, bytes]] = []

    def charge(self, sent: Sent, now_s: float) -> None:
        """Take one request, at a time in seconds."""
        rules, bill = self.rules, self.bill
        tokens = len(sent.text) / BYTES_PER_TOKEN
        cached, written = self._marked_hit(sent, now_s) if rules.needs_mark else (self._hit(sent, now_s), 0.0)
        bill.calls += 1
        bill.tokens += tokens
        bill.cached_tokens += cached
        bill.steady_tokens += sent.mark / BYTES_PER_TOKEN
        bill.steady_cached += min(cached, sent.mark / BYTES_PER_TOKEN)
        plain = tokens - cached - written
        bill.usd += (plain * rules.input_usd + cached * rules.cached_usd + written * rules.write_usd) / 1e6

    def _marked_hit(self, sent: Sent, now_s: float) -> tuple[float, float]:
        size = sent.mark / BYTES_PER_TOKEN
        if size < self.rules.min_tokens:
            return 0.0, 0.0
        prefix = sent.text[: sent.mark]
        last = self._marked.get(prefix)
        self._marked[prefix] = now_s
        return (size, 0.0) if last is not None and now_s - last <= self.rules.ttl_s else (0.0, size)

    def _hit(self, sent: Sent, now_s: float) -> float:
        self._seen = [(at, text) for at, text in self._seen if now_s - at <= self.rules.ttl_s]
        common = sorted((common_bytes(text, sent.text) for _, text in self._seen), reverse=True)
        self._seen.append((now_s, sent.text))
        if len(common) < self.rules.seen_before:
            return 0.0
        tokens = common[self.rules.seen_before - 1] / BYTES_PER_TOKEN
        return tokens // self.rules.step_tokens * self.rules.step_tokens if tokens >= self.rules.min_tokens else 0.0


def common_bytes(one: bytes, other: bytes) -> int:
    """Return the length of the common prefix in bytes."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[:middle] == other[:middle]:
            low = middle
        else:
            high = middle - 1
    return low
