"""Pages of lists, in the forms of OpenAI's and Anthropic's APIs, and what the endpoints of stored things share."""

from __future__ import annotations

import datetime
from collections.abc import Awaitable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar

import attrs
import msgspec
from starlette.responses import Response

from helmdeck_gateway.batches.files import ID
from helmdeck_gateway.dialects.parsed import one_of
from helmdeck_gateway.problems import Problem, invalid
from helmdeck_storage import StorageError

if TYPE_CHECKING:
    from starlette.requests import Request

T = TypeVar("T")

CURSOR: Final = "page_"
"""Start of a cursor of Anthropic's API, before an id."""


@attrs.frozen(kw_only=True)
class Page:
    """The part of a list that a request names.

    :ivar after: the id that it starts after; empty for the start of the list.
    :ivar newest: the list is read from its newest row on.
    :ivar is_reversed: the page is shown in the reverse of the order in which it is read.
    """

    limit: int
    after: str
    newest: bool
    is_reversed: bool = False

    @classmethod
    def of(cls, request: Request, *, default: int = 20, most: int = 100) -> Page:
        """Read the fields ``limit``, ``after`` and ``order`` of OpenAI's API.

        :raises Problem: one of them is invalid.
        """
        order = one_of(request.query_params.get("order", "desc"), ("asc", "desc"), "order")
        limit, after = _limit(request, default, most), _id(request, "after")
        return cls(limit=limit, after=after, newest=order == "desc")

    @classmethod
    def of_anthropic(cls, request: Request, *, most: int = 1_000) -> Page:
        """Read the fields ``limit``, and ``after_id``, ``before_id`` or ``page`` of Anthropic's API.

        :raises Problem: one of them is invalid.
        """
        limit, before = _limit(request, 20, most), _id(request, "before_id")
        after = before or _id(request, "after_id") or _id(request, "page").removeprefix(CURSOR)
        return cls(limit=limit, after=after, newest=not before, is_reversed=bool(before))

    def data(self, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Return the page in the form of OpenAI's API.

        :param rows: the rows of the page as they were read, and one more if there are more.
        """
        shown = rows[: self.limit][:: -1 if self.is_reversed else 1]
        ends = {"first_id": shown[0]["id"] if shown else None, "last_id": shown[-1]["id"] if shown else None}
        return {"object": "list", "data": shown, **ends, "has_more": len(rows) > self.limit}

    def anthropic_data(self, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Return the page in the form of Anthropic's API, whose clients read either the ids or ``next_page``."""
        page = self.data(rows)
        del page["object"]
        has_next = page["has_more"] and not self.is_reversed
        return {**page, "next_page": f"{CURSOR}{page['last_id']}" if has_next else None}

    def of_all(self, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Return the page of a list that is at hand as a whole, the oldest row first.

        :raises Problem: the list has no row with the id that the page starts after.
        """
        rows = rows[::-1] if self.newest else rows
        start = 0
        if self.after:
            places = [number for number, row in enumerate(rows, 1) if row.get("id") == self.after]
            if not places:
                raise invalid(f"the list has no item {self.after!r}", "after")
            start = places[0]
        return self.data(rows[start : start + self.limit + 1])


def _limit(request: Request, default: int, most: int) -> int:
    text = request.query_params.get("limit", str(default))
    if not text.isascii() or not text.isdigit() or not 1 <= int(text[:9]) <= most:
        raise invalid(f"expected a number from 1 to {most:,}, found {text[:20]!r}", "limit")
    return int(text[:9])


def _id(request: Request, name: str) -> str:
    text = request.query_params.get(name, "")
    if text and not ID.fullmatch(text):
        raise invalid(f"{text[:80]!r} is not an id", name)
    return text


def iso_time(time_s: int) -> str | None:
    """Return a time as Anthropic's API writes it; ``None`` for one that has not come."""
    return datetime.datetime.fromtimestamp(time_s, datetime.UTC).isoformat() if time_s else None


async def stored(work: Awaitable[T]) -> T:
    """Return the result of work in the store.

    :raises Problem: the store does not answer.
    """
    try:
        return await work
    except StorageError as exc:
        raise Problem(
            message=f"the store of the gateway does not answer: {exc}",
            status=503, kind="overloaded_error", code="store_unavailable", retry_after_s=1, is_worth_retrying=True,
        ) from exc  # fmt: skip


def json_response(data: Any) -> Response:
    """Return data as a response."""
    return Response(msgspec.json.encode(data), media_type="application/json")
