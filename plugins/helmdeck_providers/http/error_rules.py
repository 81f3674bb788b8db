"""Rules that map error responses to failure classes: their types, and how rules of plugins are merged with those of a wire format.

The rules of the built-in wire formats are in ``wire_formats.error_codes``; ``failures`` applies them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from helmdeck_core import EMPTY, CallFailed, ErrorRuleSet

MILLISECONDS_HEADER = "retry-after-ms"
"""Default header with the retry delay in milliseconds; ``ErrorRules`` can name another one."""


@attrs.frozen(kw_only=True)
class ErrorFields:
    """The fields of error objects; the defaults fit most APIs.

    Each value is a list of paths into the object, with keys joined by dots; a path applies to each item of a list.

    :ivar message: message; the first non-empty one is used.
    :ivar upstream: message of the server behind a gateway, added to the message.
    :ivar words: codes and types.
    :ivar status: HTTP status in the body, for errors that arrive with 200.
    :ivar flags: true or non-empty if moderation stopped the request.
    :ivar delays: retry delay as a duration such as ``30s``.
    :ivar upstream_headers: objects with the headers of the server behind a gateway.
    :ivar generation: model output that the provider rejected.
    :ivar unwrapped: fields and values that identify a body as an error object without ``error`` around it.

    >>> from helmdeck_providers import ErrorFields
    >>> ErrorFields(message=("reason",), words=("kind",)).message
    ('reason',)
    """

    message: Sequence[str] = ("message", "detail", "error", "title")
    upstream: Sequence[str] = ()
    words: Sequence[str] = ("code", "type", "status", "error_type")
    status: Sequence[str] = ("code", "status", "status_code")
    flags: Sequence[str] = ()
    delays: Sequence[str] = ()
    upstream_headers: Sequence[str] = ()
    generation: Sequence[str] = ()
    unwrapped: Mapping[str, str] = EMPTY


@attrs.frozen
class Cause:
    """A failure class and an optional sub-cause."""

    kind: type[CallFailed]
    sub_cause: str = ""


@attrs.frozen(kw_only=True)
class ErrorRules(ErrorRuleSet):
    """Rules that map error responses to failure classes, as data; codes and phrases in lower case.

    Each wire format has rules; plugins add rules for named providers with the hook ``helmdeck_error_rules``.

    :ivar fields: fields of error objects.
    :ivar words: codes and types that apply to every status.
    :ivar marks: phrases in the codes or the message; the first match applies.
    :ivar context_marks: phrases for a prompt that is too long; ignored for unambiguous statuses such as 429.
    :ivar form_marks: names of request fields that constrain the response. If a rejected request's error contains one,
        the constraint was rejected: the same request without it may succeed.
    :ivar vague_words: codes and types that apply only without an error status, in a body that arrived with 200.
    :ivar statuses: HTTP statuses with a special meaning.
    :ivar retry_header: header with ``true`` or ``false`` for whether a retry can succeed; empty for none.
    :ivar milliseconds_header: header with the retry delay in milliseconds; overrides ``Retry-After``.
    """

    fields: ErrorFields = ErrorFields()
    words: Mapping[str, Cause] = EMPTY
    marks: Sequence[tuple[str, Cause]] = ()
    context_marks: Sequence[str] = ()
    form_marks: Sequence[str] = ()
    vague_words: Mapping[str, Cause] = EMPTY
    statuses: Mapping[int, Cause] = attrs.field(factory=dict)
    retry_header: str = ""
    milliseconds_header: str = MILLISECONDS_HEADER


def combined_rules(rules: ErrorRules, *more: ErrorRules) -> ErrorRules:
    """Merge rule sets field by field; on conflict the earlier set wins.

    Mappings are merged, sequences are concatenated.
    """
    combined = rules
    for added in more:
        fields = [field.name for field in attrs.fields(ErrorRules) if field.name not in _OWN_FIELDS]
        combined = attrs.evolve(combined, **{name: _merged(combined, added, name) for name in fields})
    return combined


_OWN_FIELDS = ("name", "order", "providers")
"""Metadata of a rule set, not merged."""


def _merged(first: Any, second: Any, name: str) -> Any:
    before: Any = getattr(first, name)
    after: Any = getattr(second, name)
    if isinstance(before, ErrorFields):
        return attrs.evolve(
            before, **{each.name: _merged(before, after, each.name) for each in attrs.fields(ErrorFields)}
        )
    if isinstance(before, Mapping):
        return {**before, **after, **before}  # in the order of the sets, with the values of the first
    return (
        (*before, *after) if isinstance(before, (list, tuple)) else _first_non_default(type(first), name, before, after)
    )


def _first_non_default(cls: type, name: str, before: Any, after: Any) -> Any:
    """Return the first value that differs from the default."""
    return after if before == getattr(attrs.fields_dict(cls)[name], "default") else before
