"""The built-in ladder, step by step and as a whole."""

import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmdeck_core import Catalog, Entry, EntryKind
from helmdeck_core.context.ladder import PreparedCatalog
from helmdeck_core.hooks.calls import Contribution
from helmdeck_selection.trim_steps import first_sentence, helmdeck_trim_steps
from tests.case_support import each_case

STEPS = [Contribution("trim", step) for step in helmdeck_trim_steps()]
SPEC_ORDER = [
    "pack.intent_keywords[]",
    "pack.typical_use",
    "pack.limitations[]",
    "pipeline.steps[].body",
    "pipeline.inputs/outputs.schema",
    "description.firstSentence",
]

GUIDE = {
    "packs": [
        {
            "name": "blog.draft",
            "description": "Drafts a post. It takes a while.",
            "metadata": {
                "accepts": ["text"],
                "produces": ["post"],
                "intent_keywords": ["draft a blog post", "write an article"],
                "typical_use": "After research, to have something to show.",
                "limitations": ["English only"],
                "house_rule": "unknown to everybody",
            },
        },
        {"name": "bare.pack"},
    ],
    "pipelines": [
        {
            "id": "grounded",
            "name": "Grounded post",
            "description": "Drafts and grounds a post. Slow, but safe.",
            "metadata": {
                "supersedes": ["blog.draft"],
                "steps": [{"id": "one", "name": "First", "pack": "blog.draft", "with": {"text": "{{inputs.text}}"}}],
                "inputs": {"zeta": {"type": "string"}, "alpha": {"type": "string", "description": "first letter"}},
                "outputs": {"type": "object", "properties": {"post": {"type": "string"}, "notes": {"type": "array"}}},
            },
        }
    ],
}


def prepared(data=None, steps=STEPS) -> PreparedCatalog:
    return PreparedCatalog(Catalog.from_data(data or GUIDE, "test"), steps)


def totals(guide):
    return [guide.rung(number).total for number in range(guide.last_rung + 1)]


def compacted(cap, data=None):
    guide = prepared(data)
    rung, record = guide.compact(cap)
    return json.loads(guide.whole(rung)), record, guide


@pytest.mark.parametrize("cap", [None, 0, -5])
def test_catalog_is_unchanged_without_a_cap(cap):
    data, record, _ = compacted(cap)
    assert data == GUIDE
    assert record.dropped == () and record.before_bytes == record.after_bytes


def test_catalog_within_the_cap_is_unchanged():
    size = len(Catalog.from_data(GUIDE, "x").encode())
    data, record, _ = compacted(size)
    assert data == GUIDE and record.dropped == ()


def test_measured_bytes_are_the_sent_bytes():
    for cap in range(200, 1_100, 50):
        _, record, guide = compacted(cap)
        rung, _ = guide.compact(cap)
        assert record.after_bytes == len(guide.whole(rung).encode())


def test_steps_run_in_order_and_stop_at_the_cap():
    _, _, guide = compacted(None)
    for number, total in enumerate(totals(guide)[: len(SPEC_ORDER) + 1]):
        _, record, _ = compacted(total)
        assert list(record.dropped) == SPEC_ORDER[:number]
        assert record.after_bytes == total
        assert [(each.step, each.after_bytes) for each in record.steps] == list(
            zip(record.dropped, totals(guide)[1:], strict=False)
        )


def test_unreachable_cap_is_reported_with_both_sizes():
    data, record, guide = compacted(10)
    assert record.dropped[-1] == f"still_over_budget({totals(guide)[-1]}>10)"
    assert record.before_bytes == guide.full_bytes > record.after_bytes == totals(guide)[-1]
    assert data["pipelines"][0]["metadata"]["supersedes"] == ["blog.draft"]
    assert [p["name"] for p in data["packs"]] == ["blog.draft", "bare.pack"] and data["pipelines"][0][
        "id"
    ] == "grounded"


def test_step_that_removes_nothing_has_no_label():
    _, record, _ = compacted(10, {"packs": [{"name": "a", "description": "One sentence only."}]})
    assert record.dropped == (f"still_over_budget({record.after_bytes}>10)",)


def test_the_input_is_never_changed():
    data = copy.deepcopy(GUIDE)
    compacted(10, data)
    assert data == GUIDE


def test_trimming_is_deterministic():
    assert len({prepared().whole(len(STEPS)) for _ in range(5)}) == 1


def test_step_bodies_keep_id_name_and_pack():
    data, _, _ = compacted(10)
    assert data["pipelines"][0]["metadata"]["steps"] == [{"id": "one", "name": "First", "pack": "blog.draft"}]


def test_schemas_become_field_names_in_source_order():
    data, _, _ = compacted(10)
    metadata = data["pipelines"][0]["metadata"]
    assert metadata["inputs"] == ["zeta", "alpha"] and metadata["outputs"] == ["post", "notes"]


def test_entry_without_metadata_is_unchanged():
    data, _, _ = compacted(10)
    assert data["packs"][1] == {"name": "bare.pack"}


def test_unknown_metadata_is_kept():
    data, _, _ = compacted(10)
    assert data["packs"][0]["metadata"]["house_rule"] == "unknown to everybody"


def test_unknown_keys_are_removed_only_with_a_label():
    tool = {"name": "t", "annotations": {"readOnlyHint": True}, "description": "Reads. Slowly."}
    data, record, _ = compacted(10, {"packs": [tool]})
    assert "entry.extra_fields" in record.dropped and "annotations" not in data["packs"][0]


def test_tool_schemas_are_reduced_before_removal():
    schema = {
        "type": "object",
        "title": "statusArguments",
        "properties": {
            "mode": {"type": "string", "enum": ["a", "b"], "description": "long " * 30},
            "n": {"type": "integer"},
        },
        "required": ["mode"],
    }
    _, _, guide = compacted(None, {"packs": [{"name": "t", "input_schema": schema}]})
    names = [guide.rung(number).step for number in range(guide.last_rung + 1)]
    thin = json.loads(guide.whole(names.index("pack.input_schema.details")))["packs"][0]["input_schema"]
    assert thin == {
        "type": "object",
        "properties": {"mode": {"type": "string", "enum": ["a", "b"]}, "n": {"type": "integer"}},
        "required": ["mode"],
    }
    assert json.loads(guide.whole(names.index("pack.input_schema")))["packs"][0]["input_schema"] == ["mode", "n"]


@each_case(
    ("text", "first"),
    [
        ("One. Two.", "One."),
        ("Ends here! Not there.", "Ends here!"),
        ("Really? Yes.", "Really?"),
        ("No end at all", "No end at all"),
        ("", ""),
        ("Works with v1.2 and 3.5 of it. Also more.", "Works with v1.2 and 3.5 of it."),
        ("Reads files, e.g. PDF, i.e. documents. Fast.", "Reads files, e.g. PDF, i.e. documents."),
        ("Takes logs, metrics, etc. and plots them. Nicely.", "Takes logs, metrics, etc. and plots them."),
        ("Takes logs, metrics, etc. Plots them.", "Takes logs, metrics, etc."),
        ("By J. Smith of Acme. Second.", "By J. Smith of Acme."),
        ("Is it on? Say yes or no. Then go.", "Is it on?"),
        ("The answer is no. Then go.", "The answer is no."),
        ("See fig. 3 for details. Then go.", "See fig. 3 for details."),
        ("Reads a.txt, b.md and example.com pages. Then stops.", "Reads a.txt, b.md and example.com pages."),
        ('He said "stop." Then left.', 'He said "stop."'),
        ("Waits... then continues. Second.", "Waits... then continues."),
        ("これは文です。次の文です。", "これは文です。"),
        ("这是第一句。这是第二句。", "这是第一句。"),
        ("यह पहला वाक्य है। यह दूसरा है।", "यह पहला वाक्य है।"),
        ("هل هذا سؤال؟ نعم.", "هل هذا سؤال؟"),
        ("First line.\nSecond line.", "First line."),
        ("Version 2. Then more.", "Version 2."),
    ],
)
def test_first_sentence_ends_at_its_real_end(text, first):
    assert first_sentence(text) == first


@each_case(
    "text_of",
    [
        lambda count: "e.g. " * count,
        lambda count: "a" * count + ". B",
        lambda count: "x. y" * count,
        lambda count: "... " * count,
        lambda count: "J. " * count,
    ],
    ids=["abbreviations", "one word", "no gaps", "dots", "initials"],
)
def test_work_for_a_first_sentence_grows_linearly(work_counter, text_of):
    work_counter.assert_linear(lambda count: first_sentence(text_of(count)), 2_000)


@given(st.text(max_size=200))
def test_first_sentence_is_a_prefix_and_trimming_is_idempotent(text):
    first = first_sentence(text)
    assert text.strip().startswith(first.strip())
    assert first_sentence(first) == first


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
FIELD = st.sampled_from(["description", "steps", "inputs", "outputs", "input_schema", "metadata", "extra"])
META = st.dictionaries(
    st.sampled_from(["intent_keywords", "typical_use", "limitations", "steps", "inputs", "outputs", "more"]),
    JSON,
    max_size=5,
)


@st.composite
def entries(draw):
    kind = draw(st.sampled_from(list(EntryKind)))
    data = {"name" if kind is EntryKind.PACK else "id": "x", **draw(st.dictionaries(FIELD, JSON, max_size=4))}
    data["metadata"] = {**draw(META), "supersedes": ["y"]}
    if "description" in data:
        data["description"] = str(data["description"])
    return Entry(kind, "x", data, "test")


@given(entries())
def test_no_step_enlarges_an_entry_or_removes_required_fields(entry):
    guide = PreparedCatalog(Catalog([entry]), STEPS)
    assert totals(guide) == sorted(totals(guide), reverse=True)
    for rung in range(guide.last_rung + 1):
        kept = json.loads(guide.whole(rung))
        (data,) = kept["packs"] + kept["pipelines"]
        assert data["metadata"]["supersedes"] == ["y"] and "x" in (data.get("name"), data.get("id"))
