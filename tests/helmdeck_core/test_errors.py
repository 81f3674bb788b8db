"""Exceptions: data as fields, messages as text, and copies that survive pickling."""

import pickle

import attrs
import pytest

from helmdeck_core import (
    FAILURES,
    Attempt,
    CallFailed,
    ConfigError,
    FailureClass,
    HelmdeckError,
    LengthTruncated,
    LikelyTimeout,
    Mistake,
    PackError,
    PackErrorCode,
)
from helmdeck_core import errors as module
from helmdeck_core.errors import PluginConflictError, PluginLoadError
from tests.case_support import each_case


def test_every_failure_class_has_one_exception_under_the_common_base():
    assert set(FAILURES) == set(FailureClass)
    for failure_class, cls in FAILURES.items():
        assert issubclass(cls, CallFailed) and cls.failure_class is failure_class


def test_every_exception_is_listed_in_the_tree_of_the_module_docstring():
    classes = [value for value in vars(module).values() if isinstance(value, type) and issubclass(value, Exception)]
    assert len(classes) > len(FAILURES)
    for cls in classes:
        assert issubclass(cls, HelmdeckError)
        assert cls.__name__ in (module.__doc__ or "")


@each_case("cls", FAILURES.values(), ids=lambda cls: cls.__name__)
def test_message_has_facts_hint_and_next_action_on_one_line(cls):
    failure = cls(
        "acme.pack: the model returned nothing",
        "a/b",
        stop_reason="MaxTokens",
        raw_stop_reason="length",
        latency_s=1.25,
    )
    text = str(failure)
    assert text.startswith("acme.pack: the model returned nothing (model a/b, stop reason 'length', 0 bytes, 1.2 s)")
    assert failure.hint in text and failure.next_action in text and "\n" not in text


def test_sub_cause_overrides_the_advice_of_its_class():
    plain, specific = LikelyTimeout("x"), LikelyTimeout("x", sub_cause="only_reasoning")
    assert plain.advice() == (plain.hint, plain.next_action) != specific.advice()
    assert "a model without reasoning" in str(specific) and specific.to_dict()["next_action"] == specific.advice()[1]
    assert LikelyTimeout("x", sub_cause="unknown").advice() == plain.advice()


def test_retry_after_is_in_the_message():
    assert "retry after 2.5 s" in str(FAILURES[FailureClass.RATE_LIMITED]("x", retry_after_s=2.5))


@each_case(
    "exc",
    [
        *(cls("x", "a/b", retry_after_s=3.0, attempts=(Attempt(number=1, model="a/b"),)) for cls in FAILURES.values()),
        ConfigError((Mistake("a", "b", "c", "d"), Mistake("e", "f"))),
        PackError("p", PackErrorCode.TIMEOUT, "too slow"),
        PluginLoadError("p", "target", "why", "dist 1.0", remedy="install it"),
        PluginConflictError("p", "hook", "a name", None, "q"),
    ],
    ids=lambda exc: type(exc).__name__,
)
def test_exception_survives_pickling_chaining_and_notes(exc):
    copy = pickle.loads(pickle.dumps(exc))
    assert type(copy) is type(exc) and str(copy) == str(exc)

    def fail():
        try:
            raise KeyError("cause")
        except KeyError as cause:
            raise exc from cause

    with pytest.raises(type(exc)) as caught:
        fail()
    caught.value.add_note("seen")
    assert isinstance(caught.value.__cause__, KeyError) and caught.value.__traceback__ is not None


def test_evolved_failure_keeps_its_class():
    changed = attrs.evolve(LengthTruncated("x"), model="a/b")
    assert type(changed) is LengthTruncated and changed.model == "a/b"


def test_fields_are_frozen():
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        LengthTruncated("x").model = "other"


def test_one_mistake_is_one_line_and_several_are_a_numbered_list():
    assert "\n" not in str(ConfigError((Mistake("a", "wrong"),)))
    assert str(ConfigError((Mistake("a", "wrong"), Mistake("b", "bad", "1", "2")))).splitlines()[1:] == [
        "  1. a: wrong",
        "  2. b: bad, found 1; allowed: 2",
    ]
