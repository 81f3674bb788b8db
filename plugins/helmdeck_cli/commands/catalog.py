"""``helmdeck catalog``: shows the catalog, how it is trimmed for a model, and how it is ranked for a request."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from helmdeck_cli.execution import wait_for
from helmdeck_cli.inputs import add_catalog, request_text, whole_number
from helmdeck_cli.printing.ranking import MAX_MATCHES, ranking_rows, rest_text
from helmdeck_cli.printing.results import trim_text
from helmdeck_cli.printing.wording import counted
from helmdeck_cli.shared_options import add_model, add_ranking
from helmdeck_cli.sources import note_source_problems, refresh_sources, source_status
from helmdeck_core import Command, hookimpl
from helmdeck_core.cli import ExitCode, clean, hanging, labelled, make_deck, note, show, show_json, table

if TYPE_CHECKING:
    from helmdeck_core import PreparedCatalog, Ranking, Score, TrimRecord

# -- show --------------------------------------------------------------------------------------------------


def configure_show(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("--ids", action="store_true", help="print the ids only, one per line")
    add_catalog(parser)


def show_catalog(arguments: argparse.Namespace) -> int:
    """List the catalog; with ``--json``, print it in the format of catalog files."""
    with make_deck(arguments) as deck:
        catalog = deck.catalog
        note_source_problems(deck)
        runnable = [entry.id for entry in catalog.entries if deck.can_run(entry.id)]
    if arguments.json:
        ids = {"packs": [e.id for e in catalog.packs], "pipelines": [e.id for e in catalog.pipelines]}
        # Besides the entries, so that the output can still be saved as a catalog file.
        show_json({**(ids if arguments.ids else catalog.to_data()), "runnable": runnable})
    elif arguments.ids:
        show("\n".join(entry.id for entry in catalog.entries))
    else:
        sources = list(dict.fromkeys(Path(entry.source).name for entry in catalog.entries))
        counts = f"{counted(len(catalog.packs), 'pack')}, {counted(len(catalog.pipelines), 'pipeline')}"
        origin = f", from {', '.join(sources)}" if sources else ""
        show(hanging("", f"{counts}, {len(catalog.encode()):,} bytes, version {catalog.version}{origin}"))
        if not sources:
            return ExitCode.OK
        show(hanging("", _who_runs(len(runnable), len(catalog))))
        show()
        rows: list[tuple[str, ...]] = [
            (e.kind.value, "yes" if e.id in set(runnable) else "no", e.id, Path(e.source).name, e.description)
            for e in catalog.entries
        ]
        if len(sources) == 1:  # in the first line already
            rows = [(*row[:3], row[4]) for row in rows]
        source = ("source",) if len(sources) > 1 else ()
        headings = ("kind", "runs", "id", *source, "description")
        show(table(rows, headings, clipped={len(headings) - 1}))
    return ExitCode.OK


def _who_runs(runnable: int, entries: int) -> str:
    if not runnable:
        return "`helmdeck run` runs none of them: they serve planning, and the application runs the steps of a plan"
    if runnable == entries:
        return "`helmdeck run` runs all of them"
    return f"`helmdeck run` runs {runnable} of them; the application runs the others"


# -- refresh -----------------------------------------------------------------------------------------------


def refresh_catalog(arguments: argparse.Namespace) -> int:
    """Start every server of the catalog, and keep its list of tools for later commands."""
    deck = make_deck(arguments)

    def refresh() -> tuple[set[str], set[str], list[tuple[str, int, str]]]:
        before = {entry.id for entry in deck.catalog.entries}
        with contextlib.suppress(ImportError):  # the status of the source reports it
            refresh_sources(deck)
        return before, {entry.id for entry in deck.catalog.entries}, source_status(deck)

    async def work(_: Callable[[str], None]) -> tuple[set[str], set[str], list[tuple[str, int, str]]]:
        import asyncio

        return await asyncio.to_thread(refresh)

    before, after, rows = wait_for(deck, "starting the servers of the catalog", work, notes_problems=False)
    facts = [{"server": name, "entries": count, "problem": problem} for name, count, problem in rows]
    added, removed = sorted(after - before), sorted(before - after)
    if arguments.json:
        show_json({"servers": facts, "added": added, "removed": removed})
    elif not rows:
        note("no server is configured in [catalog.mcp.NAME]; other sources are read by every command")
    else:
        show(
            table(
                [(name, str(count), problem or "ok") for name, count, problem in rows], ("server", "entries", "state")
            )
        )
        for label, ids in (("added", added), ("removed", removed)):
            if ids:
                show(labelled(label, clean(", ".join(ids))))
    return ExitCode.CHECK_FAILED if any(problem for _, _, problem in rows) else ExitCode.OK


# -- compact -----------------------------------------------------------------------------------------------


def configure_compact(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add_model(parser, "the model whose catalog limit and trim steps apply")
    parser.add_argument(
        "--max-bytes",
        metavar="N",
        type=whole_number,
        help="the catalog limit, instead of that of the model; 0: no limit",
    )
    parser.add_argument(
        "--output",
        action="store_true",
        help="print the trimmed catalog to standard output, the figures to standard error",
    )
    add_catalog(parser)


def compact_catalog(arguments: argparse.Namespace) -> int:
    """Trim the whole catalog step by step, as the ladder does before anything is ranked."""
    deck = make_deck(arguments)
    budget = deck.budget(arguments.model).budget
    cap = budget.max_catalog_bytes if arguments.max_bytes is None else arguments.max_bytes or None
    prepared = deck.prepared(arguments.model)
    note_source_problems(deck)
    rung, record = prepared.compact(cap)
    text = prepared.whole(rung)
    if arguments.json:
        import msgspec

        facts = {"model": budget.model, "tier": budget.tier.value, "max_catalog_bytes": cap, **record.to_dict()}
        show_json({**facts, "catalog": msgspec.json.decode(text)})
        return ExitCode.OK
    title = f"{budget.model}, tier {budget.tier.value}: {_limit(cap)}"
    lines = [title, "", _steps(prepared, rung), "", *_summary(record, cap)]
    (note if arguments.output else show)("\n".join(lines))
    if arguments.output:
        show(text)
    return ExitCode.OK


def _limit(cap: int | None) -> str:
    return "no catalog limit" if cap is None else f"catalogs of at most {cap:,} bytes"


def _steps(prepared: PreparedCatalog, last: int) -> str:
    rows = [("untrimmed", f"{prepared.full_bytes:,}", "")]
    for number in range(1, last + 1):
        rung = prepared.rung(number)
        removed = prepared.rung(number - 1).total - rung.total
        restored = [label for label in rung.labels if label != rung.step]
        effect = ", ".join([f"-{removed:,}" if removed else "nothing to remove", *restored])
        rows.append((f"{number}. {rung.step}", f"{rung.total:,}", effect))
    return table(rows, ("after step", "bytes", "removed"), right={1})


def _summary(record: TrimRecord, cap: int | None) -> list[str]:
    labels = ", ".join(record.dropped) or "none: nothing was removed"
    lines = [labelled("size", trim_text(record)), labelled("labels", labels)]
    if cap is not None and record.after_bytes > cap:
        what = "the catalog does not fit: entries are ranked for each request, and the rest is left out"
        lines.append(labelled("next", f"{what}; `helmdeck catalog rank REQUEST` shows the ranking"))
    return lines


# -- rank --------------------------------------------------------------------------------------------------


def configure_rank(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add_ranking(parser, "the model whose catalog limit applies", top=15)
    parser.add_argument("--why", action="store_true", help="show all matched terms, and the parts of the request")


def rank_catalog(arguments: argparse.Namespace) -> int:
    """Rank the catalog for a request and show which entries are sent."""
    request = request_text(arguments)
    deck = make_deck(arguments)
    selection = deck.select(request, model=arguments.model)
    note_source_problems(deck)
    ranking = selection.ranking or deck.rank(request, model=arguments.model)
    kept = {entry.id for entry in selection.entries}
    scores = ranking.scores[: arguments.top if arguments.top > 0 else None]
    if arguments.json:
        rows: list[dict[str, Any]] = [
            {"id": s.id, "score": s.score, "matched": list(s.matched), "kept": s.id in kept} for s in scores
        ]
        show_json(
            {
                "model": deck.budget(arguments.model).budget.model,
                "max_catalog_bytes": selection.cap,
                "was_ranked": selection.ranking is not None,
                "confidence": ranking.confidence,
                "clauses": list(ranking.clauses),
                "selection": selection.record.to_dict(),
                "entries": rows,
            }
        )
        return ExitCode.OK
    _show_ranking(arguments, ranking, kept)
    show()
    show(labelled("confidence", _confidence(ranking, deck.runtime.config.selection.confidence)))
    trimmed = f"{_limit(selection.cap)}: {trim_text(selection.record)}"
    if selection.ranking is None:
        trimmed = f"the whole catalog is sent, so the ranking is not used; {trimmed}"
    show(labelled("selection", trimmed))
    if selection.record.dropped:
        show(labelled("labels", ", ".join(selection.record.dropped)))
    return ExitCode.OK


def _show_ranking(arguments: argparse.Namespace, ranking: Ranking, selected: set[str]) -> None:
    if arguments.why and ranking.clauses:
        for number, clause in enumerate(ranking.clauses, 1):
            show(hanging(f"part {number}: ", clause))
        show()
    best = set(ranking.clause_best)

    def sent(score: Score) -> str:
        return ("yes" if score.id in selected else "no") + (" *" if arguments.why and score.index in best else "")

    rows = ranking_rows(ranking, arguments.top, sent, None if arguments.why else MAX_MATCHES)
    show(table(rows, ("#", "id", "score", "sent", "matched"), right={0, 2}))
    if arguments.why and best:
        show("* the best match of a part of the request; kept as long as it fits")
    if rest := rest_text(ranking, len(rows)):
        show(rest)


def _confidence(ranking: Ranking, threshold: float) -> str:
    word = "sure" if ranking.is_confident(threshold) else "unsure"
    return f"{ranking.confidence:.2f}, {word}: the lead of the best entry; sure from {threshold:g}"


@hookimpl
def helmdeck_commands() -> Sequence[Command]:
    """The commands of the group ``catalog``."""
    return (
        Command(
            name="catalog show",
            summary="list all packs and pipelines that plans can use",
            group_summary="show, trim, rank and refresh the catalog",
            configure=configure_show,
            run=show_catalog,
            order=60,
        ),
        Command(
            name="catalog compact",
            summary="show how the catalog is trimmed for a model",
            configure=configure_compact,
            run=compact_catalog,
            order=61,
        ),
        Command(
            name="catalog rank",
            summary="show how the catalog is ranked for a request",
            configure=configure_rank,
            run=rank_catalog,
            order=62,
        ),
        Command(
            name="catalog refresh",
            summary="start every MCP server, and keep its list of tools for later commands",
            configure=add_catalog,
            run=refresh_catalog,
            order=64,
        ),
    )
