"""What words mean: languages, synonyms, broader and everyday words, of the package and of the files of a deployment."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, cached_property, lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import attrs

from helmdeck_language.languages import ENGLISH, LANGUAGES, STEMS, with_stems
from helmdeck_language.languages.language import KEYS, Language
from helmdeck_language.meanings.phrases import PhraseBook
from helmdeck_language.meanings.vocabulary import Vocabulary
from helmdeck_language.text.terms import WORD_TERMS, fold, stem
from helmdeck_language.text.word_files import WordFile

if TYPE_CHECKING:
    from helmdeck_core import Mistake

_KEYS: Final = ("synonyms", "broader", "everyday")
_OTHER_SCRIPTS: Final = ""
_NONE: Final[frozenset[str]] = frozenset()


@attrs.frozen(kw_only=True, eq=False, slots=False)
class Lexicon:
    """The meanings of words. Immutable; what is derived from the lists is computed at the first use.

    :ivar groups: words that mean the same; a word may be in several groups.
    :ivar broader: broader words with their cases: a request for rain needs a weather tool, but not the other way round.
    :ivar everyday: words of catalogs with words of people, beside those of the package.

    >>> from helmdeck_language import lexicon
    >>> sorted(language.code for language in lexicon().languages)[:3]
    ['de', 'en', 'es']
    """

    languages: Sequence[Language]
    groups: Sequence[Sequence[str]]
    broader: Mapping[str, str]
    everyday: Mapping[str, str] = attrs.Factory(dict)
    _synonym_sets: dict[str, frozenset[str]] = attrs.field(factory=dict, init=False)
    _everyday_of: dict[str, Mapping[str, tuple[str, ...]]] = attrs.field(factory=dict, init=False)

    @cached_property
    def vocabularies(self) -> Sequence[Vocabulary]:
        """The words of each language that the ranker translates."""
        if self.languages is LANGUAGES:
            return _built_in_vocabularies()
        found = {each.code: each for each in _built_in_vocabularies()}
        for own in self.languages:
            if own not in LANGUAGES and own.code != ENGLISH.code:
                found[own.code] = Vocabulary.of(with_stems(own.code).with_more(own) if own.code in found else own)
        return tuple(found.values())

    @cached_property
    def synonyms_of(self) -> Mapping[str, tuple[str, ...]]:
        """The synonyms of a term, and the broader terms that it is a case of."""
        table: defaultdict[str, dict[str, None]] = defaultdict(dict)
        for group in self.groups:
            stems = list(dict.fromkeys(term for word in group for term in WORD_TERMS[word]))
            for term in stems:
                table[term].update(dict.fromkeys(other for other in stems if other != term))
        return _with_broader(table, (self.broader,))

    def everyday_meanings(self, term: str) -> tuple[str, ...]:
        """Return the terms that a term stands for where a catalog does not contain it."""
        letter = _letter(term)
        known = self._everyday_of.get(letter)
        if known is None:
            rows = [self._everyday_rows.get(letter, {})]
            if letter == _OTHER_SCRIPTS:
                rows.append(WordFile.beside(__file__, "everyday_chinese.toml").rows("everyday"))
            known = self._everyday_of[letter] = _with_broader(defaultdict(dict), rows)
        return known.get(term, ())

    @cached_property
    def _everyday_rows(self) -> Mapping[str, Mapping[str, str]]:
        """The everyday words by their first letter, since a request has few of them."""
        found: defaultdict[str, dict[str, str]] = defaultdict(dict)
        for rows in (WordFile.beside(__file__, "everyday.toml").rows("everyday"), self.everyday):
            for means, cases in rows.items():
                for word in cases.split():
                    own = found[_letter(fold(word))]
                    own[means] = f"{own[means]} {word}" if means in own else word
        return found

    @cached_property
    def phrases(self) -> PhraseBook:
        """The phrases of English requests, with the terms that they stand for."""
        rows = WordFile.beside(__file__, "everyday_phrases.toml").rows("everyday")
        return PhraseBook([*rows.items(), *self.everyday.items()])

    @cached_property
    def near(self) -> Mapping[str, frozenset[str]]:
        """The stems of the synonyms of a stem, itself included; broader words are left out."""
        found: dict[str, frozenset[str]] = {}
        for group in self.groups:
            stems = frozenset(map(stem, group))
            for term in stems:
                found[term] = found.get(term, stems) | stems
        return found

    @cached_property
    def known_words(self) -> frozenset[str]:
        """The words of synonyms and of broader words: they are spelt right."""
        rows = (word for row in self.broader.items() for words in row for word in words.split())
        return frozenset([word for group in self.groups for word in group]).union(rows)

    def synonyms(self, term: str) -> frozenset[str]:
        """Return the stems that mean the same as a stem, or a kind of it."""
        found = self._synonym_sets.get(term)
        if found is None:
            if term not in self.synonyms_of:
                return _NONE
            found = self._synonym_sets[term] = frozenset(self.synonyms_of[term])
        return found

    @cached_property
    def statements(self) -> frozenset[str]:
        """Words of sentences that state or greet rather than request."""
        return frozenset().union(*(language.statements for language in self.languages))


def _letter(folded: str) -> str:
    """Return the first letter of an English word or term."""
    return folded[:1] if folded.isascii() else _OTHER_SCRIPTS


def _with_broader(
    table: defaultdict[str, dict[str, None]], tables: Iterable[Mapping[str, str]]
) -> dict[str, tuple[str, ...]]:
    """Add the terms of broader words to each term of their cases."""
    for rows in tables:
        for kinds, cases in rows.items():
            wanted = dict.fromkeys(term for word in kinds.split() for term in WORD_TERMS[word])
            for term in (term for word in cases.split() if "+" not in word for term in WORD_TERMS[word]):
                others = table[term]
                others.update(wanted)
                if term in wanted:
                    del others[term]
    return {term: tuple(others) for term, others in table.items()}


@cache
def _built_in_vocabularies() -> Sequence[Vocabulary]:
    return tuple([Vocabulary(code, sample, partial(with_stems, code)) for code, sample in STEMS.items()])


@cache
def built_in() -> Lexicon:
    """Return the meanings that come with the package."""
    file = WordFile.beside(__file__, "synonyms.toml")
    groups = tuple([tuple(group.split()) for group in file.lines("synonyms")])
    return Lexicon(languages=LANGUAGES, groups=groups, broader=file.rows("broader"))


def lexicon(path: str = "") -> Lexicon:
    """Return the meanings that come with the package, with those of a file or of a folder of files added.

    A file is a language, or has synonyms, broader and everyday words.

    :param path: a file ``.toml``, or a folder with such files; empty for the package alone.
    :raises ConfigError: a file cannot be read, has an unknown key, or a wrong value; with the mistakes of all files.

    >>> from helmdeck_language import lexicon
    >>> "picture" in next(group for group in lexicon().groups if "image" in group)
    True
    """
    if not path:
        return built_in()
    own = Path(path).expanduser().absolute()
    files = sorted(own.glob("*.toml")) if own.is_dir() else [own]
    return _with_files(tuple([(each, each.stat().st_mtime_ns if each.exists() else 0) for each in files]))


@lru_cache(16)
def _with_files(files: tuple[tuple[Path, int], ...]) -> Lexicon:
    """Return the meanings of the package and of files.

    :param files: each with the time of its last change, so that a changed file is read again.
    """
    from helmdeck_core import ConfigError

    found = built_in()
    mistakes: list[Mistake] = []
    for path, _ in files:
        try:
            file = WordFile.read(path, mistakes)
        except ConfigError as exc:
            mistakes += exc.mistakes
            continue
        is_language = not file.values.keys().isdisjoint(KEYS)
        found = _with_language(found, Language.of(file)) if is_language else _with_words(found, file)
    if mistakes:
        raise ConfigError(tuple(mistakes))
    return found


def _with_words(base: Lexicon, file: WordFile) -> Lexicon:
    file.only(_KEYS)
    groups = (*base.groups, *(tuple(group.split()) for group in file.lines("synonyms")))
    return attrs.evolve(
        base,
        groups=groups,
        broader=_joined(base.broader, file.rows("broader")),
        everyday=_joined(base.everyday, file.rows("everyday")),
    )


def _joined(own: Mapping[str, str], others: Mapping[str, str]) -> Mapping[str, str]:
    return {**own, **{key: f"{own.get(key, '')} {words}" for key, words in others.items()}}


def _with_language(base: Lexicon, language: Language) -> Lexicon:
    """Return a lexicon with one more language, or with more words of one that it has."""
    languages = {each.code: each for each in base.languages}
    own = languages.get(language.code)
    languages[language.code] = language if own is None else own.with_more(language)
    return attrs.evolve(base, languages=tuple(languages.values()))
