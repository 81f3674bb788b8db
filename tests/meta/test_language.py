"""Documentation, docstrings, comments, messages and names use plain technical English.

``tests/data/language.toml`` lists the wording to avoid, the replacements, the exemptions and the paths that are still
pending. To list the hits of some paths, pending or not::

    python tests/meta/test_language.py helmdeck_core/calls docs
"""

import functools
import re
import sys
import tomllib
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DATA = "tests/data/language.toml"
PATHS = (
    "*.md",
    "docs/**/*.md",
    "docs/**/*.py",
    "benchmarks/*.md",
    "benchmarks/**/*.py",
    "helmdeck_core/**/*.py",
    "plugins/*/**/*.py",
    "contrib_*/*/README.md",
    "contrib_*/*/src/**/*.py",
    "contrib_*/*/tests/**/*.py",
    "tests/**/*.py",
)

# Between two words of a phrase: whitespace, a line break in a comment, adjacent string literals, or an underscore.
_GAP = r"(?:[\s_#]|[\"']\s+f?[\"'])+"
_WORD = re.compile(r"[a-z]+")
# Console output comes from messages in the code, which are checked there.
_OUTPUT = re.compile(r"^ *(`{3,})(?:console|text|json)\n.*?^ *\1$", re.MULTILINE | re.DOTALL)
_PROSE = re.compile(
    r"(\"{3}|'{3}).*?\1|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|#[^\n]*",
    re.DOTALL,
)
_FUNCTION = re.compile(r"\b(?:def|class)\s+(\w+)(?:\s*\(([^)]*))?")
_PARAMETER = re.compile(r"(?:^|,)\s*\*{0,2}(\w+)")
_ATTRIBUTE = re.compile(
    r"\bself\.(\w+)\s*(?::|=(?!=))|^ {4}(\w+): (?=[A-Za-z\[\"'])|^(\w+)\s*(?::|=(?!=))", re.MULTILINE
)


class Language:
    """The data file."""

    def __init__(self, data):
        self.pending = data["pending"]
        self.names = data["names"]
        self.modules = data["modules"]
        self.allow = defaultdict(set)
        for entry in data.get("allow", ()):
            self.allow[entry["path"]].add(entry["phrase"])
        self.phrases = data["phrases"]
        # A phrase is looked for only where its first word is, which makes the check a single pass over the words.
        self._by_first_word = defaultdict(list)
        for phrase in self.phrases:
            first, *words = phrase.split(" ")
            rest = "".join(f"{_GAP}(?:{word})" for word in words)
            for word in first.split("|"):
                pattern = re.compile(rf"(?<![a-z]){re.escape(word)}{rest}(?![a-z])")
                self._by_first_word[word.partition("'")[0]].append((pattern, phrase))

    def hits(self, path, text):
        """Each hit of one file as ``(line, found, replacement)``."""
        allowed = set().union(*(self.allow.get(each, ()) for each in (path, *map(str, Path(path).parents))))
        if "*" in allowed:
            return []
        is_python = path.endswith(".py")
        if not is_python:
            text = _OUTPUT.sub(lambda match: "\n" * match[0].count("\n"), text)
        found = [*self._phrases(text.lower())]
        if is_python:
            if any(" " in match for _, match, *_ in found):
                found = [*_without_code(found, text)]
            found += [*self._module(path), *self._names(text)]
        return [
            (text.count("\n", 0, start) + 1, " ".join(match.split()), use)
            for start, match, entry, use in sorted(found)
            if entry not in allowed
        ]

    def _phrases(self, text):
        for word in _WORD.finditer(text):
            for pattern, phrase in self._by_first_word.get(word[0], ()):
                # "there is no plugin" is plain English, "x is no plugin" is not.
                if (match := pattern.match(text, word.start())) and not text.endswith("there ", 0, word.start()):
                    yield match.start(), match[0], phrase, self.phrases[phrase]

    def _names(self, text):
        for match in _FUNCTION.finditer(text):
            parameters = _PARAMETER.findall(match[2] or "")
            for name in (match[1], *parameters):
                if use := self.names.get(name.strip("_")):
                    yield match.start(), f"name {name}", name.strip("_"), use
        for match in _ATTRIBUTE.finditer(text):
            name = match[1] or match[2] or match[3]
            if use := self.names.get(name.strip("_")):
                yield match.start(), f"name {name}", name.strip("_"), use

    def _module(self, path):
        for part in Path(path).with_suffix("").parts:
            stem = part.removeprefix("test_")
            if use := self.modules.get(stem):
                yield 0, f"module {part}", stem, use


def _without_code(found, text):
    """Drop matches such as ``in pieces`` of ``for piece in pieces``: in code, only an underscore joins words."""
    spans = [match.span() for match in _PROSE.finditer(text)]
    for hit in found:
        start, match, *_ = hit
        if " " not in match or any(first <= start < last for first, last in spans):
            yield hit


@functools.cache
def language():
    return Language(tomllib.loads((ROOT / DATA).read_text(encoding="utf-8")))


def files():
    found = {path for pattern in PATHS for path in ROOT.glob(pattern)}
    names = sorted(path.relative_to(ROOT).as_posix() for path in found)
    return [name for name in names if not name.startswith("tests/data/")]


@functools.cache
def all_hits():
    """The hits of every file that has any."""
    checked = language()
    found = {name: checked.hits(name, (ROOT / name).read_text(encoding="utf-8")) for name in files()}
    return {name: hits for name, hits in found.items() if hits}


def covers(entry, name):
    return name == entry or name.startswith(f"{entry.rstrip('/')}/")


def lines(found):
    return [f"{name}:{line}: {match!r}, use: {use}" for name, hits in found.items() for line, match, use in hits]


def test_wording_is_plain_technical_english():
    checked = language()
    found = all_hits()
    new = {name: hits for name, hits in found.items() if not any(covers(entry, name) for entry in checked.pending)}
    assert not new, f"see {DATA}\n" + "\n".join(lines(new))


def test_pending_paths_still_have_hits():
    checked = language()
    found = all_hits()
    clean = [entry for entry in checked.pending if not any(covers(entry, name) for name in found)]
    assert clean == [], f"clean now: remove these entries from `pending` in {DATA}"


def test_exemptions_have_a_reason_and_are_used():
    data = tomllib.loads((ROOT / DATA).read_text(encoding="utf-8"))
    unused = []
    for entry in data.get("allow", ()):
        assert entry["reason"].strip(), entry
        rest = {**data, "allow": [other for other in data["allow"] if other is not entry]}
        checked = Language({**rest, "phrases": only(data["phrases"], entry), "names": only(data["names"], entry)})
        names = [name for name in files() if covers(entry["path"], name)]
        if not any(checked.hits(name, (ROOT / name).read_text(encoding="utf-8")) for name in names):
            unused.append(f"{entry['path']}: {entry['phrase']}")
    assert unused == [], f"remove these entries from `allow` in {DATA}"


def only(table, entry):
    return table if entry["phrase"] == "*" else {key: use for key, use in table.items() if key == entry["phrase"]}


def test_phrases_are_found_across_lines_strings_and_identifiers():
    checked = Language({"pending": [], "phrases": {"is|was told": "is reported"}, "names": {}, "modules": {}})
    python = (
        '"""The caller is\ntold."""\n# it was\n# told\nx = ("is "\n     "told")\ndef test_it_is_told(): ...\nistold\n'
    )
    assert [line for line, *_ in checked.hits("a.py", python)] == [1, 3, 5, 7]
    assert checked.hits("a.py", "if it is told: pass  # 'was ' it\n") == []
    markdown = "Is Told.\n```text\nis told\n```\n```python\n# is told\n```\n"
    assert [line for line, *_ in checked.hits("a.md", markdown)] == [1, 6]


def test_names_are_found_where_they_are_defined():
    checked = Language({"pending": [], "phrases": {}, "names": {"said": "payload"}, "modules": {"hiding": "redaction"}})
    python = (
        "def _said(a, *, said=1): ...\nclass A:\n    said: int\n    def f(self): self._said = unsaid = 1\nsaid = 2\n"
    )
    assert [line for line, *_ in checked.hits("a.py", python)] == [1, 1, 3, 4, 5]
    assert checked.hits("tests/unit/test_hiding.py", "") == [(1, "module test_hiding", "redaction")]


def test_an_exemption_holds_for_its_path_and_phrase_only():
    allow = [{"path": "a/b.py", "phrase": "nobody", "reason": "data"}, {"path": "c", "phrase": "*", "reason": "data"}]
    checked = Language({"pending": [], "phrases": {"nobody": "none"}, "names": {}, "modules": {}, "allow": allow})
    assert [bool(checked.hits(path, "nobody")) for path in ("a/b.py", "a/c.py", "c/d/e.py")] == [False, True, False]


if __name__ == "__main__":
    wanted = sys.argv[1:] or [""]
    found = {name: hits for name, hits in all_hits().items() if any(not w or covers(w, name) for w in wanted)}
    sys.stdout.write("\n".join(lines(found)) + "\n")
