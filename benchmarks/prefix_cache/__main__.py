"""What a cached prefix is worth, by layout, provider and traffic.

::

    python -m benchmarks.prefix_cache              # print the tables, about a minute
    python -m benchmarks.prefix_cache --write      # write docs/benchmarks/prefix-cache.md and its plot as well
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

import attrs

from benchmarks.prefix_cache import replay
from benchmarks.prefix_cache.plot import bars
from benchmarks.prefix_cache.providers import ANTHROPIC, ANTHROPIC_HOUR, DEEPSEEK, GEMINI, OPENAI, Bill, Rules

PAGE = Path(__file__).resolve().parents[2] / "docs" / "benchmarks" / "prefix-cache.md"
PLOT = PAGE.with_suffix(".svg")
REQUESTS = 200
STEADY_S = 20.0
CACHED_B = "openrouter/deepseek/deepseek-v4-pro"
LAYOUTS: Sequence[tuple[str, replay.Layout]] = (
    ("no cache layout", replay.plain),
    ("catalog in front", replay.in_front),
    ("Helmdeck's", replay.ours),
)

HEAD = """\
# Prefix cache benchmark

Providers discount a prompt prefix that they have seen before, if it is identical to the byte. The layout of a prompt determines how
long this prefix can be. This page replays {requests} different requests, a tenth of them after a pasted document of 1.5 KB, against
the caching rules of the providers, with a request every {gap:.0f} seconds on average. The layouts:

- **no cache layout**: instructions in the system message, catalog and request in the user message, no cache marker;
- **catalog in front**: catalog in the system message followed by a marker; selected for the request if it does not fit;
- **Helmdeck's**: the parts that are identical for all requests first; if the catalog does not fit, an index of all entries
  ([how it works](../explanation.md#prompts-and-the-prefix-cache)).

Figures are US dollars for the *input* of 1,000 calls; the output costs the same in all layouts. "Cached" is the cached share of all
input tokens, "of the prefix" the cached share of the fixed part.

![US dollars for the input of 1,000 calls](prefix-cache.svg)
"""

RULES = """\
## Caching rules

| provider | input | cached | written | from | in steps of | kept for |
|---|--:|--:|--:|--:|--:|--:|
{rows}

Dollars per million tokens. The rules follow the providers' documentation of November 2026. Anthropic caches the text before up to
four markers, reads at a tenth of the price, and writes at 1.25 times the price for five minutes or at twice the price for an hour.
OpenAI caches any prefix of at least 1,024 tokens in steps of 128 and evicts it after five to ten minutes without use. Gemini caches
implicitly for a few minutes, best effort. DeepSeek keeps a prefix that two requests shared for hours. Cached input prices are those
of the [budget table](../reference/budgets.md), except for Anthropic, whose row has a more conservative 1.50; other input prices
come from the same source. A token is counted as 3.5 bytes.

Not modelled: a provider may route two requests to different machines, a relay may route them to different providers, and the
catalog of a deployment changes.

## Run it

<!-- not run: it takes a minute -->
```console
$ python -m benchmarks.prefix_cache --write
```
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Replay, print, and write where asked."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.prefix_cache", description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the page and its plot")
    parser.add_argument("--requests", type=int, default=REQUESTS, metavar="N", help="requests to replay, 200")
    arguments = parser.parse_args(argv)
    page, plot = render(arguments.requests)
    print(page)
    if arguments.write:
        PAGE.parent.mkdir(exist_ok=True)
        PAGE.write_text(page, encoding="utf-8")
        PLOT.write_text(plot, encoding="utf-8")
    return 0


def render(requests: int) -> tuple[str, str]:
    """The page and its plot."""
    large = {
        tools: replay.case(f"{tools} tools, limit 22,000", CACHED_B, requests, tools)
        for tools in (150, 300, 500, 1_000)
    }
    example = replay.case("70 entries", "anthropic/claude-sonnet-4", requests)
    small = replay.case("70 entries, limit 10,000", CACHED_B, requests, max_catalog_bytes=10_000)
    groups: list[tuple[str, list[float]]] = []
    sections = [HEAD.format(requests=requests, gap=STEADY_S)]
    sections += _whole(example, groups)
    sections += _ranked([small, *large.values()], groups)
    sections += _traffic(example, large[300])
    sections += _filtered([large[300], large[500], large[1_000]])
    rows = "\n".join(_rule(rules) for rules in (ANTHROPIC, ANTHROPIC_HOUR, OPENAI, GEMINI, DEEPSEEK))
    sections.append(RULES.format(rows=rows))
    return "\n".join(sections), bars(groups, [name for name, _ in LAYOUTS])


def _whole(case: replay.Case, groups: list[tuple[str, list[float]]]) -> Iterator[str]:
    yield "## Untrimmed catalog\n"
    yield "Tier A, the example catalog of 70 entries and 38 KB.\n"
    yield _heading("provider")
    for rules in (ANTHROPIC, ANTHROPIC_HOUR, OPENAI, GEMINI):
        bills = [replay.replay(case, layout, rules, STEADY_S) for _, layout in LAYOUTS]
        groups.append((rules.name, [bill.usd_per_1000 for bill in bills]))
        yield _row(rules.name, bills)
    yield (
        "\nThe two layouts with a marker differ by the shortlist of likely ids, which follows the prefix and is paid "
        "in full. If a provider caches any prefix, it finds the catalog in the user message too; only Anthropic "
        "needs the marker.\n"
    )


def _ranked(cases: Sequence[replay.Case], groups: list[tuple[str, list[float]]]) -> Iterator[str]:
    yield "## Catalog larger than the limit\n"
    yield "Tier B with a catalog limit, with DeepSeek's rules. The example catalog, and catalogs of tools with schemas.\n"
    yield _heading("catalog", "prefix holds")
    for case in cases:
        bills = [replay.replay(case, layout, DEEPSEEK, STEADY_S) for _, layout in LAYOUTS]
        groups.append((case.name, [bill.usd_per_1000 for bill in bills]))
        yield _row(case.name, bills, _prefix(case))
    yield (
        "\nA selection differs for every request, so nothing after the instructions is found in the cache. The index "
        "is; the selection after it gets a quarter of the limit, or half after bare names. If not even the names "
        "fit into half of the limit, there is no index: a part of the catalog that does not depend on the request "
        "would take the space of required entries, and the saving would come from sending less, not from the cache.\n"
    )
    yield "| catalog | requests with all required tools in the prompt, selection only | with the index |\n|---|--:|--:|"
    for case in cases:
        budgets = [attrs.evolve(case.budget, supports_prefix_cache=cached) for cached in (False, True)]
        shares = [
            replay.held(case, [case.composer.compose(replay.question(text), each) for text, _ in case.requests])
            for each in budgets
        ]
        yield f"| {case.name} | {shares[0]:.1%} | {shares[1]:.1%} |"
    yield ""


def _traffic(whole: replay.Case, ranked: replay.Case) -> Iterator[str]:
    yield "## Request rate\n"
    gaps = (5.0, 60.0, 300.0, 1_200.0)
    columns = " | ".join(f"every {_span(gap)}" for gap in gaps)
    yield f"| Helmdeck's layout | {columns} |\n|---|{'--:|' * len(gaps)}"
    cases = [(whole, rules) for rules in (ANTHROPIC, ANTHROPIC_HOUR, OPENAI, GEMINI)] + [(ranked, DEEPSEEK)]
    for case, rules in cases:
        bills = [replay.replay(case, replay.ours, rules, gap) for gap in gaps]
        cells = " | ".join(f"${bill.usd_per_1000:.2f} ({bill.cached_share:.0%})" for bill in bills)
        yield f"| {rules.name}, {case.name} | {cells} |"
    plain = replay.replay(whole, replay.plain, ANTHROPIC, gaps[-1]).usd_per_1000
    yield (
        f"\nIn brackets the cached share. Without a cache the first row would cost ${plain:.2f}. A marker pays off as "
        "soon as one prefix in four is found again; if requests are less frequent than the lifetime of a prefix, "
        "the price of writing it is lost, and the lifetime of an hour is better.\n"
    )


def _filtered(cases: Sequence[replay.Case]) -> Iterator[str]:
    yield "## Cost of a filter call\n"
    yield "| catalog | prefix holds | without | with a filter call at low confidence | |\n|---|---|--:|--:|--:|"
    for case in cases:
        one, two = (
            replay.replay(case, layout, DEEPSEEK, STEADY_S).usd_per_1000
            for layout in (replay.ours, replay.ours_filtered)
        )
        yield f"| {case.name} | {_prefix(case)} | ${one:.3f} | ${two:.3f} | {two / one - 1:+.0%} |"
    yield (
        "\nThe list in a filter call is the same for every request and is cached too, and the filtered catalog "
        "follows the marker. So a filter call does not invalidate the prefix; it only has its own cost. If the "
        "prefix describes every entry, the planner sees everything that the filter would see, so no call is made. "
        "Otherwise it finds entries that the ranking missed.\n"
    )


def _heading(*names: str) -> str:
    columns = " | ".join(f"{name} | cached | of the prefix" for name, _ in LAYOUTS)
    return f"| {' | '.join(names)} | {columns} |\n|{'---|' * len(names)}{'--:|' * 3 * len(LAYOUTS)}"


def _row(name: str, bills: Sequence[Bill], *more: str) -> str:
    cells = [
        f"${bill.usd_per_1000:.3f} | {bill.cached_share:.1%} | {f'{bill.steady_share:.1%}' if bill.steady_tokens else ''}"
        for bill in bills
    ]
    return f"| {' | '.join((name, *more, *cells))} |"


def _prefix(case: replay.Case) -> str:
    selection = case.composer.compose(replay.question(case.requests[0][0]), case.budget).selection
    if selection is None or selection.index is None:
        return "the trimmed catalog" if selection is not None and selection.ranking is None else "instructions"
    return "all entries, described" if selection.index.is_described else "all entries by name"


def _span(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 60 else f"{seconds / 60:.0f} min"


def _rule(rules: Rules) -> str:
    prices = " | ".join(f"{price:g}" for price in (rules.input_usd, rules.cached_usd, rules.write_usd))
    return f"| {rules.name} | {prices} | {rules.min_tokens:,} | {rules.step_tokens} | {_span(rules.ttl_s)} |"


if __name__ == "__main__":
    raise SystemExit(main())
