"""``helmdeck catalog``: what can be planned, how it is trimmed for a model, how it is ranked for a request."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from helmdeck_core.cli import exits, options, printing

if TYPE_CHECKING:
    from helmdeck_core.context.ladder import PreparedCatalog
    from helmdeck_core.domain.catalog import TrimRecord
    from helmdeck_core.domain.ranking import Ranking

FEW_MATCHES = 3
"""Matched terms that are shown without ``--why``."""


# -- show --------------------------------------------------------------------------------------------------


def configure_show(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("--ids", action="store_true", help="print nothing but the ids, one a line")
    options.add_catalog(parser)


def show(arguments: argparse.Namespace) -> int:
    """List the catalog; with ``--json``, print it in the shape in which catalog files are written."""
    from helmdeck_core.cli.tables import table

    catalog = options.make_deck(arguments).catalog
    if arguments.json:
        ids = {"packs": [e.id for e in catalog.packs], "pipelines": [e.id for e in catalog.pipelines]}
        printing.show_json(ids if arguments.ids else catalog.to_data())
    elif arguments.ids:
        printing.show("\n".join(entry.id for entry in catalog.entries))
    else:
        sources = list(dict.fromkeys(Path(entry.source).name for entry in catalog.entries))
        counts = f"{len(catalog.packs)} packs, {len(catalog.pipelines)} pipelines"
        printing.show(
            f"{counts}, {len(catalog.encode()):,} bytes, version {catalog.version}, from {', '.join(sources)}"
        )
        printing.show()
        rows: list[tuple[str, ...]] = [
            (e.kind.value, e.id, Path(e.source).name, e.description) for e in catalog.entries
        ]
        if len(sources) == 1:  # said above
            rows = [(kind, name, description) for kind, name, _, description in rows]
        headings = ("kind", "id", "source", "description") if len(sources) > 1 else ("kind", "id", "description")
        printing.show(table(rows, headings, clipped={len(headings) - 1}))
    return exits.OK


# -- compact -----------------------------------------------------------------------------------------------


def configure_compact(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument(
        "--model", metavar="PROVIDER/MODEL", help="whose limit and ladder apply; else the configured model"
    )
    parser.add_argument("--max-bytes", metavar="N", type=options.whole_number, help="another limit; 0 is none")
    parser.add_argument(
        "--output", action="store_true", help="print the compacted catalog, and the figures on standard error"
    )
    options.add_catalog(parser)


def compact(arguments: argparse.Namespace) -> int:
    """Trim the whole catalog step by step, as the ladder does before anything is ranked."""
    deck = options.make_deck(arguments)
    budget = deck.budget(arguments.model).budget
    cap = budget.max_catalog_bytes if arguments.max_bytes is None else arguments.max_bytes or None
    prepared = deck.prepared(arguments.model)
    rung, record = prepared.compact(cap)
    text = prepared.whole(rung)
    if arguments.json:
        import msgspec

        facts = {"model": budget.model, "tier": budget.tier.value, "max_catalog_bytes": cap, **record.to_dict()}
        printing.show_json({**facts, "catalog": msgspec.json.decode(text)})
        return exits.OK
    head = f"{budget.model}, tier {budget.tier.value}: {_limit(cap)}"
    lines = [head, "", _climb(prepared, rung), "", *_verdict(record, cap)]
    (printing.note if arguments.output else printing.show)("\n".join(lines))
    if arguments.output:
        printing.show(text)
    return exits.OK


def _limit(cap: int | None) -> str:
    return "no limit for the catalog" if cap is None else f"catalogs of at most {cap:,} bytes"


def _climb(prepared: PreparedCatalog, last: int) -> str:
    from helmdeck_core.cli.tables import table

    rows = [("the catalog as it is", f"{prepared.full_bytes:,}", "")]
    for number in range(1, last + 1):
        rung = prepared.rung(number)
        cut = prepared.rung(number - 1).total - rung.total
        restored = [label for label in rung.labels if label != rung.step]
        said = ", ".join([f"-{cut:,}" if cut else "nothing to cut", *restored])
        rows.append((f"{number}. {rung.step}", f"{rung.total:,}", said))
    return table(rows, ("after step", "bytes", "cut"), right={1})


def _verdict(record: TrimRecord, cap: int | None) -> list[str]:
    from helmdeck_core.cli.results import fact, trimming

    lines = [fact("size", trimming(record)), fact("labels", ", ".join(record.dropped) or "none: nothing was cut")]
    if cap is not None and record.after_bytes > cap:
        what = "it does not fit: for a request, the entries are ranked and the rest is left out"
        lines.append(fact("next", f"{what}; `helmdeck catalog rank REQUEST` shows which"))
    return lines


# -- rank --------------------------------------------------------------------------------------------------


def configure_rank(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    options.add_request(parser)
    parser.add_argument(
        "--model", metavar="PROVIDER/MODEL", help="who the catalog is fitted to; else the configured model"
    )
    parser.add_argument(
        "--top", metavar="N", type=options.whole_number, default=15, help="entries to show, 15; 0 is all"
    )
    parser.add_argument("--why", action="store_true", help="show all that matched, and the parts of the request")
    options.add_catalog(parser)


def rank(arguments: argparse.Namespace) -> int:
    """Rank the catalog for a request and say what a model would get to see."""
    from helmdeck_core.domain.ranking import top_k

    request = options.request_text(arguments)
    deck = options.make_deck(arguments)
    selection = deck.select(request, model=arguments.model)
    ranking = selection.ranking or deck.rank(request, model=arguments.model)
    kept = {entry.id for entry in selection.entries}
    scores = top_k(ranking.scores, arguments.top)
    if arguments.json:
        budget = deck.budget(arguments.model).budget
        rows: list[dict[str, Any]] = [
            {"id": s.id, "score": s.score, "matched": list(s.matched), "kept": s.id in kept} for s in scores
        ]
        printing.show_json(
            {
                "model": budget.model,
                "max_catalog_bytes": selection.cap,
                "was_ranked": selection.ranking is not None,
                "confidence": ranking.confidence,
                "clauses": list(ranking.clauses),
                "selection": selection.record.to_dict(),
                "entries": rows,
            }
        )
        return exits.OK
    _show_ranking(arguments, ranking, kept)
    from helmdeck_core.cli.results import fact, trimming

    printing.show()
    printing.show(fact("confidence", _confidence(ranking, deck.runtime.config.selection.confidence)))
    printing.show(
        fact("selection", _selected(selection.ranking is not None, selection.cap, trimming(selection.record)))
    )
    if selection.record.dropped:
        printing.show(fact("labels", ", ".join(selection.record.dropped)))
    return exits.OK


def _show_ranking(arguments: argparse.Namespace, ranking: Ranking, kept: set[str]) -> None:
    from helmdeck_core.cli.tables import hanging, table
    from helmdeck_core.domain.ranking import top_k

    if arguments.why and ranking.clauses:
        for number, clause in enumerate(ranking.clauses, 1):
            printing.show(hanging(f"part {number}: ", clause))
        printing.show()
    best = set(ranking.clause_best)
    rows = []
    for place, score in enumerate(top_k(ranking.scores, arguments.top), 1):
        matched = score.matched if arguments.why else score.matched[:FEW_MATCHES]
        more = len(score.matched) - len(matched)
        text = ", ".join(matched) + (f" (+{more})" if more else "")
        sent = ("yes" if score.id in kept else "no") + (" *" if arguments.why and score.index in best else "")
        rows.append((str(place), score.id, f"{score.score:.3f}", sent, text))
    printing.show(table(rows, ("#", "id", "score", "sent", "matched"), right={0, 2}))
    if arguments.why and best:
        printing.show("* what a part of the request needs most; kept while there is room")
    if len(rows) < len(ranking.scores):
        printing.show(f"{len(ranking.scores) - len(rows)} more; --top 0 shows all")


def _confidence(ranking: Ranking, threshold: float) -> str:
    word = "sure" if ranking.is_confident(threshold) else "unsure"
    return f"{ranking.confidence:.2f}, {word}: how far the best entry stands out, sure from {threshold:g}"


def _selected(was_ranked: bool, cap: int | None, trimmed: str) -> str:
    if not was_ranked:
        return f"the whole catalog is sent, so the order does not matter ({_limit(cap)}): {trimmed}"
    return f"{_limit(cap)}: {trimmed}"


ACTIONS: options.Actions = {
    "show": (configure_show, show),
    "compact": (configure_compact, compact),
    "rank": (configure_rank, rank),
}
