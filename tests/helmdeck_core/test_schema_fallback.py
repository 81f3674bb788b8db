"""What is offered to a model of which it is known that it refused something."""

import attrs
import pytest

from helmdeck_core import (
    ChatRequest,
    Constraint,
    InvalidRequest,
    Message,
    ProviderUnavailable,
    ResponseFormat,
    Role,
    SchemaForm,
    SchemaOffer,
    TextPart,
)
from helmdeck_core.calls.schema_fallback import MAX_REMEMBERED, SchemaFallback
from helmdeck_providers import SchemaDialect, constrained
from tests.case_support import each_case

FORMS = tuple(SchemaForm(name, dict) for name in ("arguments", "ids"))
WANTED = ResponseFormat("json_object", "plan", SchemaOffer(FORMS))
ASKED = ChatRequest(model="a/one", messages=(Message(Role.USER, (TextPart("x"),)),), response_format=WANTED)
REFUSED = InvalidRequest("refused", sub_cause="schema_refused")


def forms(offering, request=ASKED):
    requested = offering.adapt(request).response_format
    return None if requested is None else [form.name for form in requested.offer.forms]


def refused(offering, sent=None, request=ASKED, failure=REFUSED):
    offering.record_failure(offering.adapt(request), failure, sent)


def test_each_rejection_removes_the_most_exact_form_and_finally_json_mode():
    offering, seen = SchemaFallback(), []
    for _ in range(5):
        seen.append(forms(offering))
        refused(offering)
    assert seen == [["arguments", "ids"], ["ids"], [], None, None]


@pytest.mark.parametrize(
    ("form", "left"), [("arguments", ["ids"]), ("ids", []), ("", None)], ids=["arguments", "ids", "any JSON"]
)
def test_rejected_form_is_removed_with_all_more_exact_ones(form, left):
    offering = SchemaFallback()
    refused(offering, Constraint(kind="json_schema" if form else "json_object", form=form))
    assert forms(offering) == left


def test_other_models_tasks_and_explicit_formats_are_unaffected():
    offering = SchemaFallback()
    refused(offering)
    assert forms(offering, attrs.evolve(ASKED, model="a/two")) == ["arguments", "ids"]
    route = attrs.evolve(ASKED, response_format=attrs.evolve(WANTED, name="route"))
    assert forms(offering, route) == ["arguments", "ids"]
    own = attrs.evolve(ASKED, response_format=ResponseFormat("json_schema", "plan", {"type": "object"}))
    refused(offering, request=own)
    assert offering.adapt(own) is own


@pytest.mark.parametrize("failure", [InvalidRequest("no"), ProviderUnavailable("no", sub_cause="schema_refused")])
def test_other_failures_remove_no_form(failure):
    offering = SchemaFallback()
    refused(offering, failure=failure)
    assert offering.adapt(ASKED) is ASKED


def test_remembered_rejections_are_bounded():
    offering = SchemaFallback()
    for number in range(MAX_REMEMBERED + 1):
        refused(offering, request=attrs.evolve(ASKED, model=f"a/{number}"))
    assert forms(offering, attrs.evolve(ASKED, model="a/0")) == ["ids"]
    assert forms(offering, attrs.evolve(ASKED, model=f"a/{MAX_REMEMBERED}")) == ["arguments", "ids"]


# -- what is made of an offer ------------------------------------------------------------------------------------

ANY = SchemaDialect(name="any")
CLOSED = {"type": "object", "properties": {}, "additionalProperties": False}
BOTH = ("json_schema", "json_object")


def offered(*schemas):
    named = zip("abc", schemas, strict=False)
    return ResponseFormat("json_object", "x", SchemaOffer(tuple(SchemaForm(n, lambda s=s: s) for n, s in named)))


@each_case(
    ("requested", "kinds", "dialect", "label", "downgrades"),
    [
        (offered(CLOSED), BOTH, ANY, "json_schema a", ()),
        (offered(None, CLOSED), BOTH, ANY, "json_schema b", ()),
        (offered({"type": "object"}), BOTH, ANY, "json_object", ()),
        (offered(), BOTH, ANY, "json_object", ()),
        (offered(CLOSED), BOTH, None, "json_object", ()),
        (offered(CLOSED), ("json_object", "json_schema"), ANY, "json_object", ()),
        (offered(CLOSED), (), ANY, "", ()),
        (offered(), ("json_schema",), ANY, "json_schema", ()),
        (ResponseFormat("json_object", "x", CLOSED), BOTH, ANY, "json_schema schema", ()),
        (ResponseFormat("json_object"), (), None, "", ("response_format json_object left out",)),
        (
            ResponseFormat("json_object"),
            ("json_schema",),
            ANY,
            "json_schema",
            ("response_format json_object -> json_schema",),
        ),
        (ResponseFormat("json_schema", "x", CLOSED), BOTH, ANY, "json_schema", ()),
        (ResponseFormat("json_schema"), BOTH, ANY, "json_object", ("response_format json_schema -> json_object",)),
        (ResponseFormat("yaml"), BOTH, ANY, "", ("response_format yaml left out",)),
    ],
)
def test_constraint_is_the_supported_part_of_the_format(requested, kinds, dialect, label, downgrades):
    found = constrained(requested, kinds, dialect)
    assert (found.label, found.downgrades) == (label, downgrades)
    assert (found.schema is not None) == found.kind.startswith("json_schema") and found.size >= 2 * bool(found.schema)


def test_repr_of_a_format_hides_its_offer():
    assert repr(WANTED) == repr(offered(CLOSED)).replace("'x'", "'plan'") and "arguments" not in repr(WANTED)
