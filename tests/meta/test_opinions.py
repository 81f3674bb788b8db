"""The core holds no opinion: no vendor, mark of a model, prompt text, natural-language pattern or weight.

What to look for is derived from what the built-in plugins contribute. The heuristics and their exceptions are below, and
the last tests show that they find what they are for.
"""

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path

from helmdeck_testing import make_deck
from tests.case_support import each_case

ROOT = Path(__file__).resolve().parents[2]


CORE = ROOT / "helmdeck_core"
CONTRIBUTED = make_deck().runtime.contributions


def values(hook):
    return [owned.value for owned in CONTRIBUTED[hook]]


ENGLISH = {"auto", "compatible", "deployments", "free", "local", "meta", "responses", "scripted", "together"}
"""Words in names of providers and models that are words of English, or name what runs in this process."""
DEFAULTS = {"lexical"}
"""The built-in ranker and planner: configuration names them as defaults."""
EXAMPLES = {"cli/overview.py", "cli/config.py"}
"""Modules that show examples of commands and of a configuration file; these name a model that exists."""


@functools.cache
def vendor_names():
    """Words of provider names and the first word of every part of a model id."""
    provider_words = (word for spec in values("helmdeck_providers") for word in spec.name.split("-"))
    parts = (part for row in values("helmdeck_budget_rows") for part in row.prefix.split("/"))
    model_words = (re.match(r"[a-z]*", part)[0] for part in parts)
    return {word for word in (*provider_words, *model_words) if len(word) > 2} - ENGLISH - DEFAULTS


@functools.cache
def model_marks():
    """Reasoning tags and marks of tool calls, without the bracket that closes them."""
    pairs = (*values("helmdeck_reasoning_tags"), *values("helmdeck_tool_call_formats"))
    marks = {
        mark.strip()
        for each in pairs
        for mark in (each.open, each.close)
        for mark in ([mark] if isinstance(mark, str) else mark)
    }
    return {mark.rstrip(">]") for mark in marks if len(mark) > 4 and re.match(r"[<\[&◁]", mark)}


STRUCTURE = {"body", "schema", "details", "input_schema", "extra_fields", "id", "name"}
"""Last words of trim steps that are fields of the catalog format, or words of English, and not metadata."""


@functools.cache
def trim_fields():
    names = {step.name.rpartition(".")[2].removesuffix("[]") for step in values("helmdeck_trim_steps")}
    return {name for name in names if name.islower()} - STRUCTURE


def key_prefixes():
    """Literal prefixes of secret patterns."""
    patterns = (each.pattern.removeprefix(r"\b") for each in values("helmdeck_secret_patterns"))
    return {re.match(r"\w+", pattern)[0] for pattern in patterns}


# -- source ---------------------------------------------------------------------------------------------------


def docstrings(tree):
    bodies = (node.body for node in ast.walk(tree) if isinstance(getattr(node, "body", None), list))
    return {id(each.value) for body in bodies for each in body if isinstance(each, ast.Expr)}


def strings(tree: ast.AST) -> Iterator[ast.Constant]:
    """String constants, also as parts of f-strings, without docstrings."""
    skipped = docstrings(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in skipped:
            yield node


def text_of(node, named):
    """The constant text of an expression; names of module-level strings are replaced by their text."""
    match node:
        case ast.Constant(value=str() as text):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(text_of(part, named) for part in parts)
        case ast.FormattedValue(value=value):
            return text_of(value, named)
        case ast.BinOp(left=left, right=right):
            return text_of(left, named) + text_of(right, named)
        case ast.Name(id=name) if name in named:
            return text_of(named[name], {key: value for key, value in named.items() if key != name})
    return ""


def named_strings(tree):
    assignments = (node for node in tree.body if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value)
    return {
        target.id: node.value
        for node in assignments
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name)
    }


def regexes(tree):
    """The text of every regular expression."""
    named = named_strings(tree)
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="re")), args=[first, *_]):
                is_verbose = "VERBOSE" in ast.unparse(node)
                text = text_of(first, named)
                yield node.lineno, re.sub(r"(?m)(?<!\\)#.*$", "", text) if is_verbose else text


def words_of_regex(pattern):
    """Words that a pattern matches literally: escapes, group names, classes and bounds left out."""
    literal = re.sub(r"\\[a-zA-Z]|\(\?P?[<=]\w*[>)]?|\[(?:\\.|[^\]])*\]|\{[\d,]*\}", " ", pattern)
    return re.findall(r"[^\W\d_]{3,}", literal)


# -- rules ----------------------------------------------------------------------------------------------------


def names_found(source, names):
    pattern = re.compile(rf"(?i)(?<![a-z])(?:{'|'.join(map(re.escape, sorted(names)))})(?![a-z])")
    return [f"{number}: {line.strip()}" for number, line in enumerate(source.splitlines(), 1) if pattern.search(line)]


def marks_found(source, marks):
    pattern = re.compile(rf"(?i)(?:{'|'.join(map(re.escape, sorted(marks)))})(?![a-z])")
    return [f"{number}: {line.strip()}" for number, line in enumerate(source.splitlines(), 1) if pattern.search(line)]


FORMATS = {
    "redaction.py": "names of headers, form fields and options that hold credentials",
    "secret_places.py": "names of headers, form fields and options that hold credentials",
    "cli/plan.py": "a message of the schema check",
}
"""Modules whose patterns contain words that no model writes as prose, and what they are."""


def prose_patterns(tree):
    return [f"{line}: {pattern}" for line, pattern in regexes(tree) if len(words_of_regex(pattern)) > 1]


def foreign_letters(tree):
    """Strings with letters beyond ASCII, ranges of a script aside: the core matches and writes no natural language."""
    texts = ((node.lineno, re.sub(r"\[[^\]]*\]", "", node.value)) for node in strings(tree))
    return [f"{line}: {text}" for line, text in texts if any(ord(char) > 127 and char.isalpha() for char in text)]


SPEAKS_TO_USERS = {
    "cli": "help and output",
    "errors": "hints",
    "config": "mistakes",
    "hooks": "errors of plugins",
    "log.py": "levels",
}
"""Parts of the core whose texts are for people; they may address the reader."""
ACRONYMS = r"JSON|TOML|HTTP|UTF"
ADDRESSES = re.compile(r"(?i)(?<!did )\b(?:you|your)\b")
HEADING = re.compile(rf"\s*(?!{ACRONYMS})[A-Z]{{4,}}(?:[ :(].*)?", re.DOTALL)
"""How a text speaks to a model: it addresses the reader, or is a heading in capitals."""
MESSAGES = {"TextPart", "Message", "PromptVariant", "PromptText"}
"""What texts for models are made into."""


def model_texts(tree):
    """Strings that are parts of a message, address the reader, or are headings."""
    found = []
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id=name), args=arguments) if name in MESSAGES:
                parts = (part for argument in arguments for part in strings(argument))
                found += [f"{part.lineno}: {part.value}" for part in parts if re.search(r"\w{2,}", part.value)]
    spoken = (node for node in strings(tree) if ADDRESSES.search(node.value) or HEADING.fullmatch(node.value))
    return found + [f"{node.lineno}: {node.value}" for node in spoken]


SETTINGS = {
    "config/call_types.py": "defaults of settings",
    "config/types.py": "defaults of settings",
    "domain/ranking.py": "the default of [selection] confidence",
}
MACHINE = {
    "calls/models.py": "likeness of names in a suggestion",
    "suggestions.py": "likeness of names in a suggestion",
    "calls/recovery_policy.py": "defaults of [recovery], and the middle of the jitter",
}
"""Modules with fractions that weigh nothing, and what these are."""


def fractions(tree):
    """Numbers between 0 and 1 that are no seconds: shares, weights and thresholds."""
    seconds = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and all(ast.unparse(each).lower().endswith("_s") for each in node.targets)
    }
    return [
        f"{node.lineno}: {node.value}"
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, float)
        and 0 < node.value < 1
        and id(node) not in seconds
    ]


# -- the core -------------------------------------------------------------------------------------------------


@functools.cache
def parsed():
    """Each module of the core: its path in the core, its source and its tree."""
    sources = {path: path.read_text(encoding="utf-8") for path in sorted(CORE.rglob("*.py"))}
    return [(path.relative_to(CORE).as_posix(), source, ast.parse(source)) for path, source in sources.items()]


def test_core_names_no_vendor_model_mark_or_trim_field():
    for name, source, _ in parsed():
        assert name in EXAMPLES or names_found(source, vendor_names()) == [], name
        assert names_found(source, trim_fields()) == [], name
        assert marks_found(source, model_marks()) == [], name


def test_core_has_no_pattern_of_natural_language_or_of_keys():
    keys = re.compile(rf"\b(?:{'|'.join(key_prefixes())})\b")
    for name, _, tree in parsed():
        assert name in FORMATS or prose_patterns(tree) == [], name
        assert foreign_letters(tree) == [], name
        assert [pattern for _, pattern in regexes(tree) if keys.search(pattern)] == [], name


def test_core_writes_no_text_for_models():
    for name, _, tree in parsed():
        assert name.partition("/")[0] in SPEAKS_TO_USERS or model_texts(tree) == [], name


def test_core_has_no_weights():
    for name, _, tree in parsed():
        assert name in {*SETTINGS, *MACHINE} or fractions(tree) == [], name


def test_what_is_looked_for_comes_from_the_plugins():
    assert {"openai", "anthropic", "claude", "gemini", "openrouter", "mistral", "gpt"} <= vendor_names()
    assert {"<think", "[think", "<|channel|>analysis<|message|"} <= model_marks()
    assert {"intent_keywords", "typical_use", "limitations"} <= trim_fields()
    assert {"sk", "xai", "AIza"} <= key_prefixes()


@each_case(
    ("rule", "source"),
    [
        (
            prose_patterns,
            'import re\n_SORRY = r"(?:i am )?sorry"\nX = re.compile(f"{_SORRY} but i (?:cannot|will not)")',
        ),
        (prose_patterns, 'import re\nX = re.compile(r"pick(?:ing)?[ ]up|carry(?:ing)?[ ]on")'),
        (foreign_letters, 'X = "désolé"'),
        (foreign_letters, 'X = ("继续", "続き")'),
        (
            model_texts,
            'HINT = "Your last message was truncated. Continue with the next character, and repeat nothing of it."',
        ),
        (model_texts, 'HEADING = "ANSWER (one JSON object that fits this JSON Schema)"'),
        (model_texts, 'class A:\n    catalog_heading: str = "CATALOG"'),
        (model_texts, 'part = TextPart(f"What was wrong: {error}.")'),
        (fractions, "PRIOR_WEIGHT = 0.25"),
        (fractions, "DESCRIBED_SHARE, NAMED_SHARE = 0.75, 0.5"),
    ],
)
def test_each_rule_finds_what_it_is_for(rule, source):
    assert rule(ast.parse(source)) != []


@each_case(
    ("rule", "source"),
    [
        (prose_patterns, 'import re\nX = re.compile(r"(?P<mark>`{3,}|~{3,})[ \\t]*(?P<language>[\\w+#.-]*)")'),
        (model_texts, '"""Describes what is wrong."""\nraise ValueError("the answer is empty")'),
        (model_texts, 'X = f" (did you mean {name!r})"'),
        (fractions, "KEPT_S = 0.05\nLIMIT = 2.0"),
    ],
)
def test_no_rule_takes_the_machine_for_an_opinion(rule, source):
    assert rule(ast.parse(source)) == []
