"""The attack suite: its cases, its report, and a case that hangs or ends its process."""

import json

import pytest

from benchmarks.attacks import cases as declared
from benchmarks.attacks import runner
from benchmarks.attacks.cases import GROUPS, Case, Stage, Suite, broken, degraded, held, worst
from benchmarks.attacks.page import TITLES
from benchmarks.attacks.runner import Outcome, cases_of, report_of
from benchmarks.attacks.secrets import KEY, leak_in


@pytest.mark.parametrize("group", GROUPS)
def test_every_group_has_cases_with_unique_names(group):
    cases = cases_of(group)
    assert len(cases) >= 10 and group in TITLES
    assert all(case.group == group and 0 < case.deadline_s <= 240 for case in cases)


def test_report_lists_cases_by_verdict():
    def case(name):
        return Case("door", name, lambda stage: held(""), "CWE-1")

    outcomes = [Outcome(case(each.kind), each, 0.1) for each in (held("a"), degraded("b"), broken("c"))]
    report = report_of(outcomes)
    assert report["cases"] == 3 and report["counts"] == {"held": 1, "degraded": 1, "broken": 1}
    assert report["broken"][0] == {
        "name": "broken", "reason": "c", "group": "door", "reference": "CWE-1", "seconds": 0.1,
    }  # fmt: skip
    assert worst(held("a"), degraded("b")).kind == "degraded"
    json.dumps(report)


def test_error_of_a_case_is_a_verdict_and_closes_what_it_opened(tmp_path):
    suite, stage = Suite("door"), Stage(is_quick=True, folder=tmp_path)

    @suite.case("raises")
    def raises(stage):
        raise ValueError("x")

    verdict = runner._verdict_of(suite.cases[0], stage)
    assert (verdict.kind, verdict.reason) == ("broken", "no verdict: ValueError: x")


@pytest.mark.parametrize(
    "text", [KEY, KEY[:14], f"x{KEY[-14:]}y", " ".join(KEY.upper()), KEY.encode().hex(), KEY.replace("/", "\\/")]
)
def test_parts_of_planted_secrets_are_found(text):
    assert leak_in(f"before {text} after")


def test_text_without_a_secret_has_no_leak():
    assert not leak_in("a sentence about keys, sk-proj-none")
    assert declared.KINDS == ("held", "degraded", "broken")
