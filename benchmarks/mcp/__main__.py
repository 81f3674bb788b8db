"""The MCP server: what a client must read with and without the facade, what search finds, and abuse of the HTTP endpoint.

::

    python -m benchmarks.mcp                        # print the tables, about a minute
    python -m benchmarks.mcp --write                # write docs/benchmarks/mcp.md and its plot as well
    python -m benchmarks.mcp --ranker vectors       # measure the search of another ranker as well; may be repeated
    python -m benchmarks.mcp --no-abuse             # leave the HTTP endpoint out
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from benchmarks.mcp.abuse import measure
from benchmarks.mcp.catalogs import deck_of, requests, servers
from benchmarks.mcp.plot import bars
from helmdeck_core import CallLimits, Helmdeck
from helmdeck_mcp.server.entries import Tools
from helmdeck_mcp.server.facade import CALL, DESCRIBE, SEARCH, facade_tools
from helmdeck_mcp.server.tools import PLAN, Tool, ToolCall

PAGE = Path(__file__).resolve().parents[2] / "docs" / "benchmarks" / "mcp.md"
PLOT = PAGE.with_suffix(".svg")
BYTES_PER_TOKEN = 4
FIRST = 5

HEAD = """\
# MCP server benchmark

What clients of `helmdeck mcp` have to read, whether `helmdeck__search` finds the right tool, and how the HTTP endpoint behaves under
abuse. The catalogs are the recorded `tools/list` results of {count} published MCP servers with {tools} tools.
"""

TOKENS = """\
## Tokens

A client sends the list of all tools to its model with every request. The facade shows four tools; others are found with a search.
Sizes are those of compact JSON; a token is counted as {ratio} bytes.

| list of tools | tools | bytes | tokens |
|---|--:|--:|--:|
{rows}

![Tokens of the list of tools](mcp.svg)

A search result has {search:,} tokens in the mean of {requests} requests, a description with its schema {describe:,}. A request over
one tool therefore costs about {one:,} tokens with the facade, the list of tools included, compared with {every:,}.
"""

SEARCHES = """\
## Search

{requests} requests in plain words, written before their first result was seen. "Found" means that a tool that serves the request is
among the first {first} results. The search orders the entries of the ranker by effect, by
server and by numbers as well. Its rules were developed with the first set; of the second set, only the totals were looked at.
The misses of the third set were read, but no rule was changed after it was written: it has one to three requests for every tool.

| ranker | all | first set | second set | third set |
|---|--:|--:|--:|--:|
{rows}
"""

ABUSE = """\
## Abuse of the HTTP endpoint

`helmdeck mcp --http` with one token, 128 requests under way and bodies of at most 1 MB. The memory of the server is measured after
each case.

| case | requests | answers | memory |
|---|--:|---|--:|
{rows}
"""


@attrs.frozen
class Sizes:
    """Sizes of what a client reads, in bytes of compact JSON."""

    listed: Sequence[tuple[str, int, int]]
    facade: int
    search: int
    describe: int

    @property
    def every(self) -> int:
        """The tools of all servers."""
        return sum(size for _, _, size in self.listed)


def size_of(data: Any) -> int:
    """The size of compact JSON."""
    return len(json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode())


def tokens(size: int) -> int:
    """An estimate of the tokens."""
    return round(size / BYTES_PER_TOKEN)


async def call(deck: Helmdeck, tool: Tool, **arguments: Any) -> Mapping[str, Any]:
    """Run a tool of the facade."""
    context = ToolCall(deck=deck, arguments=arguments, progress=lambda _: None, limits=CallLimits())
    return await tool.run(context)


async def measure_sizes(recorded: Mapping[str, list[Mapping[str, Any]]]) -> Sizes:
    """Measure the lists, and the results of searches and descriptions."""
    async with deck_of(recorded, "lexical") as deck:
        tools = Tools(deck)
        facade = {tool.name: tool for tool in facade_tools(tools)}
        shown = [facade[name] if name in facade else tools.own[name] for name in (SEARCH, DESCRIBE, CALL, PLAN)]
        results = [await call(deck, facade[SEARCH], query=row["request"]) for row in requests()]
        names = [result["tools"][0]["name"] for result in results if result["tools"]]
        described = [await call(deck, facade[DESCRIBE], names=[name]) for name in names]
    listed = [(server, len(each), size_of({"tools": each})) for server, each in recorded.items()]
    return Sizes(
        listed,
        size_of({"tools": [tool.to_wire() for tool in shown]}),
        sum(map(size_of, results)) // len(results),
        sum(map(size_of, described)) // len(described),
    )


async def hits(recorded: Mapping[str, list[Mapping[str, Any]]], ranker: str) -> Mapping[str, Sequence[bool]]:
    """Whether each request finds its tool among the first results, by part."""
    found: dict[str, list[bool]] = {"first": [], "second": [], "third": []}
    async with deck_of(recorded, ranker) as deck:
        search = next(tool for tool in facade_tools(Tools(deck)) if tool.name == SEARCH)
        for row in requests():
            wanted = {name.replace(".", "__", 1) for name in row["tools"]}
            result = await call(deck, search, query=row["request"], limit=FIRST)
            found[row["set"]].append(bool(wanted & {tool["name"] for tool in result["tools"]}))
    return found


def token_text(sizes: Sizes) -> str:
    """The table of tokens."""
    rows = [f"| {name} | {count} | {size:,} | {tokens(size):,} |" for name, count, size in sizes.listed]
    count = sum(each for _, each, _ in sizes.listed)
    rows.append(f"| **all of them** | {count} | {sizes.every:,} | {tokens(sizes.every):,} |")
    rows.append(f"| **the facade** | 4 | {sizes.facade:,} | {tokens(sizes.facade):,} |")
    one = sizes.facade + sizes.search + sizes.describe
    return TOKENS.format(
        ratio=BYTES_PER_TOKEN,
        rows="\n".join(rows),
        search=tokens(sizes.search),
        describe=tokens(sizes.describe),
        requests=len(requests()),
        one=tokens(one),
        every=tokens(sizes.every),
    )


def search_text(found: Mapping[str, Mapping[str, Sequence[bool]]]) -> str:
    """The table of searches."""

    def share(values: Sequence[bool]) -> str:
        return f"{sum(values)} of {len(values)} ({sum(values) / len(values):.0%})"

    rows = [
        f"| `{ranker}` | {share([each for part in parts.values() for each in part])} | {' | '.join(share(part) for part in parts.values())} |"
        for ranker, parts in found.items()
    ]
    return SEARCHES.format(requests=len(requests()), first=FIRST, rows="\n".join(rows))


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranker", action="append", default=[], metavar="NAME")
    parser.add_argument("--no-abuse", action="store_true")
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    recorded = servers()
    sizes = asyncio.run(measure_sizes(recorded))
    found = {ranker: asyncio.run(hits(recorded, ranker)) for ranker in ("lexical", *arguments.ranker)}
    count = sum(len(each) for each in recorded.values())
    parts = [HEAD.format(count=len(recorded), tools=count), token_text(sizes), search_text(found)]
    if not arguments.no_abuse:
        rows = [f"| {name} | {sent} | {answers} | {memory:.0f} MB |" for name, sent, answers, memory in measure()]
        parts.append(ABUSE.format(rows="\n".join(rows)))
    text = "\n".join(parts)
    print(text)
    if arguments.write:
        PAGE.write_text(text, encoding="utf-8")
        lists = [(name, tokens(size), False) for name, _, size in sorted(sizes.listed, key=lambda row: -row[2])]
        lists = [("all servers", tokens(sizes.every), False), *lists, ("the facade", tokens(sizes.facade), True)]
        PLOT.write_text(bars(lists), encoding="utf-8")


if __name__ == "__main__":
    main()
