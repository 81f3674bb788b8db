"""Rules of several sets are combined into one."""

from helmdeck_core import InvalidRequest, QuotaExhausted, SafetyFiltered
from helmdeck_providers import Cause, ErrorFields, ErrorRules, read_error
from helmdeck_providers.http.error_rules import combined_rules

FIRST = ErrorRules(
    name="first", words={"a": Cause(QuotaExhausted)}, marks=(("x", Cause(QuotaExhausted)),), context_marks=("long",)
)
SECOND = ErrorRules(
    name="second",
    words={"b": Cause(InvalidRequest), "a": Cause(SafetyFiltered)},
    marks=(("x", Cause(SafetyFiltered)),),
    statuses={418: Cause(InvalidRequest)},
)


def test_earlier_set_wins_and_no_rule_is_lost():
    rules = combined_rules(FIRST, SECOND)
    assert list(rules.words.items()) == [("a", Cause(QuotaExhausted)), ("b", Cause(InvalidRequest))]
    assert rules.marks == (("x", Cause(QuotaExhausted)), ("x", Cause(SafetyFiltered)))
    assert (rules.context_marks, rules.statuses) == (("long",), {418: Cause(InvalidRequest)})


def test_single_set_stays_as_it_is():
    assert combined_rules(FIRST) == FIRST


def test_fields_of_all_sets_are_read_and_other_headers_outrank_the_default():
    added = ErrorRules(fields=ErrorFields(words=("vendor.code",)))
    own = ErrorRules(
        fields=ErrorFields(generation=("wrote",)), milliseconds_header="acme-wait-ms", retry_header="acme-retry"
    )
    rules = combined_rules(added, own)
    facts = read_error({"error": {"message": "m", "type": "T", "vendor": {"code": "E1"}, "wrote": "x"}}, rules)
    assert (facts.words, facts.generation) == ({"t", "e1"}, "x")
    assert (rules.milliseconds_header, rules.retry_header) == ("acme-wait-ms", "acme-retry")
