"""``/v1/rerank``: documents by relevance, in the form of Cohere's and Jina's APIs; ranked locally where no provider ranks."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from helmdeck_core import Catalog, Entry, EntryKind, InvalidRequest, Ranker, Usage
from helmdeck_gateway.accounts.request_costs import text_tokens
from helmdeck_gateway.calls.aside import aside
from helmdeck_gateway.calls.direct_calls import DirectAnswer, DirectCalls, DirectRequest, wrong_answer
from helmdeck_gateway.dialects.parsed import field, required
from helmdeck_gateway.endpoints.calls import Door
from helmdeck_gateway.endpoints.direct import Direct, DirectEndpoint
from helmdeck_gateway.problems import invalid

MAX_DOCUMENTS: Final = 10_000
"""Documents of one request; more are refused."""
RANKER: Final = "lexical"
"""The ranker for models of providers that rank no documents."""
LOCAL: Final = "local/lexical"
"""The model that such responses name."""

_encode = msgspec.json.Encoder().encode
Score = tuple[int, float]
"""The index of a document and its relevance."""


class RerankEndpoint(DirectEndpoint):
    """Ranks documents."""

    def __init__(self, door: Door, calls: DirectCalls) -> None:
        super().__init__(door, calls, "rerank")

    async def answer(self, work: Direct) -> bytes:
        """Return the documents that are most relevant to the query."""
        body = work.body.fields
        name = required(body, "model", str)
        work.principal.check_model(name)
        query, documents = required(body, "query", str), _documents(required(body, "documents", list))
        if not query.strip():
            raise invalid("a query has a text", "query")
        most = field(body, "top_n", int)
        if most is not None and most < 1:
            raise invalid("must be at least 1", "top_n")
        most = min(most or len(documents), len(documents))
        targets = self.door.service.targets
        chain = targets.find(name).models
        if self.door.service.guards:
            texts = [query, *documents]
            query, *documents = await self.door.service.check_texts(texts, work.principal, name, chain[0], self.name)
        answer = await self._ranked(work, self._models(chain), query, documents, most)
        scores, tokens = answer.result
        if answer.model == LOCAL:
            work.headers["x-helmdeck-ranker"] = RANKER
        scores = sorted(scores, key=lambda score: (-score[1], score[0]))[:most]
        results: list[dict[str, Any]] = [{"index": index, "relevance_score": score} for index, score in scores]
        if field(body, "return_documents", bool):
            results = [{**row, "document": {"text": documents[row["index"]]}} for row in results]
        shown = name if work.record.model == chain[0] else work.record.model
        return _encode(
            {
                "id": work.record.call_id or os.urandom(12).hex(),
                "object": "list",
                "created": int(time.time()),
                "model": shown,
                "results": results,
                "usage": {"total_tokens": tokens},
                "meta": {"api_version": {"version": "2"}, "billed_units": {"search_units": 1}},
            }
        )

    def _models(self, chain: Sequence[str]) -> list[str]:
        """The models of a chain whose providers rank documents, up to a local one; the local one if there is none."""
        models: list[str] = []
        for model in chain:
            if model == LOCAL:
                return [*models, LOCAL]
            if self.door.service.targets.rerank_path(model):
                models.append(model)
        return models or [LOCAL]

    async def _ranked(
        self, work: Direct, models: list[str], query: str, documents: list[str], most: int
    ) -> DirectAnswer:
        """Rank by the first model of a chain that does; the result is the scores and the tokens."""
        tokens = text_tokens(query) + sum(map(text_tokens, documents)) if models[0] != LOCAL else 0

        def payload(model: str) -> bytes:
            name = model.partition("/")[2]
            return _encode({"model": name, "query": query, "documents": documents, "top_n": most})

        def read(model: str, data: Any) -> tuple[Any, Usage]:
            usage = data.get("usage") if isinstance(data, Mapping) else None
            total = usage.get("total_tokens") if isinstance(usage, Mapping) else None
            count = total if isinstance(total, int) and total > 0 else tokens
            return (_scores(model, data, len(documents)), tokens), Usage(input_tokens=count).plausible()

        async def locally() -> tuple[list[Score], int]:
            rankers = self.door.service.deck.runtime.contributed(Ranker)
            if RANKER not in rankers:
                detail = f"the ranker {RANKER!r} is not installed"
                raise InvalidRequest("no provider of the model ranks documents", sub_cause="model", detail=detail)
            return await aside(work.body.size, _by_words, rankers[RANKER].value, query, documents), 0

        request = DirectRequest(
            kind="rerank",
            models=models,
            path=self.door.service.targets.rerank_path,
            payload=payload,
            read=read,
            tokens=tokens,
            deadline_s=work.deadline_s or 0.0,
            local={LOCAL: locally},
        )
        return await self.call(work, request)


def _by_words(ranker: Ranker, query: str, documents: list[str]) -> list[Score]:
    entries = (
        Entry(EntryKind.PACK, str(number), {"name": str(number), "description": text}, "request")
        for number, text in enumerate(documents)
    )
    ranking = ranker.index(Catalog(entries), **ranker.options).rank(query)
    found = {score.index: score.score for score in ranking.scores}
    top = max(found.values(), default=0.0) or 1.0
    return [(number, found.get(number, 0.0) / top) for number in range(len(documents))]


def _documents(value: list[Any]) -> list[str]:
    if not value:
        raise invalid("at least one document is required", "documents")
    if len(value) > MAX_DOCUMENTS:
        raise invalid(f"at most {MAX_DOCUMENTS:,} documents are allowed, found {len(value):,}", "documents")
    texts: list[str] = []
    for number, each in enumerate(value):
        text = each.get("text") if isinstance(each, dict) else each
        if not isinstance(text, str):
            raise invalid("expected a string, or an object with a text", f"documents[{number}]")
        texts.append(text)
    return texts


def _scores(model: str, data: Any, count: int) -> list[Score]:
    """The ranking in a response: every document at most once, with a number as its relevance."""
    rows = data.get("results") if isinstance(data, Mapping) else None
    if not isinstance(rows, list) or not rows:
        raise wrong_answer(model, "no ranking")
    scores: dict[int, float] = {}
    for row in rows:
        index = row.get("index") if isinstance(row, Mapping) else None
        score = row.get("relevance_score") if isinstance(row, Mapping) else None
        if (
            not isinstance(index, int)
            or not 0 <= index < count
            or index in scores
            or not isinstance(score, int | float)
        ):
            raise wrong_answer(model, "a ranking of other documents")
        scores[index] = float(score)
    return list(scores.items())
