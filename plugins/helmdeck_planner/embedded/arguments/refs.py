"""Repositories, and the branches, tags and commits in them: "docs/a.md on release/3.1 of acme/web", "fix/a off v1.8-stable"."""

from __future__ import annotations

import re
from typing import Final

from helmdeck_language import Kind, Token, stem
from helmdeck_planner.embedded.arguments.draft import Draft
from helmdeck_planner.embedded.arguments.name_words import is_plain_word
from helmdeck_planner.embedded.choice.weighing import is_file
from helmdeck_planner.embedded.entries.profiles import Profile
from helmdeck_planner.embedded.entries.properties import Property, Role
from helmdeck_planner.embedded.entries.property_words import (
    BASING_WORDS,
    BRANCH_PREFIXES,
    BRANCHES,
    FILE_WORDS,
    FOLDER_WORDS,
    PLAIN_WORDS,
    REF_NAMES,
    REF_WORDS,
)

_REFS: Final = frozenset(map(stem, REF_WORDS))
_NAMED_REFS: Final = frozenset((stem("branch"), stem("tag")))
_VERSIONED: Final = frozenset((stem("branch"), stem("commit"), stem("revision")))
_COMMITS: Final = frozenset((stem("commit"), stem("sha")))
_HASH: Final = re.compile(r"(?=.*\d)(?=.*[a-f])[0-9a-f]{7,40}")
_WITH_PATH: Final = re.compile(r"<(?:rev(?:ision)?|ref|commit|tree-ish|branch)>:<?(?:path|file)", re.IGNORECASE)
_FILES: Final = frozenset(map(stem, FILE_WORDS))
REPOSITORIES: Final = frozenset(map(stem, FOLDER_WORDS)) - _FILES
_BASING: Final = frozenset(map(stem, BASING_WORDS))
_TARGETING: Final = frozenset((stem("target"), stem("base")))
# How much a preposition says that a repository follows; a branch follows the others.
_BEFORE_REPO: Final = {"in": 2, "of": 2, "for": 1, "at": 1, "": 0}
_LABELLED: Final = 4
_UNLIKE: Final = -2


def takes_ref(profile: Profile, each: Property) -> bool:
    """Whether an input takes a branch, a tag or a commit."""
    names = set(each.words)
    if each.role not in (Role.NAME, Role.TEXT, Role.ID) or each.is_list or not names <= REF_NAMES:
        return False
    # A "target" is one only in an entry about branches or commits.
    return "branch" in names or bool(_VERSIONED & (each.hints | profile.text) and names & REF_WORDS)


def takes_repository(each: Property) -> bool:
    """Whether an input takes the folder of a repository or the like."""
    return each.role is Role.PATH and not each.is_list and bool(REPOSITORIES & each.stems)


def fill_refs(draft: Draft) -> None:
    """Set the repository of a part, then the branches and the like that it states; the base of a branch first."""
    inputs = [each for each in draft.open_inputs() if takes_ref(draft.profile, each)]
    _fill_repository(draft, has_ref=bool(inputs))
    for each in sorted(inputs, key=lambda each: not _is_base(each)):
        found = [place for place in range(len(draft.tokens)) if is_ref(draft, place)]
        own = [place for place in found if _is_meant(draft, each, place)]
        if len(own) > 1:
            # "compare HEAD with fix/a"
            own = [place for place in own if draft.tokens[place].word != "head"]
        if len(own) == 1:
            draft.set_text(each, own)


def fill_commits(draft: Draft) -> None:
    """Set an optional commit from the only hash that is left: "which branches have 9f3c2ab"; one that is left out from "without"."""
    inputs = [each for each in draft.open_inputs() if each.role is Role.ID and _COMMITS & each.hints]
    places = [place for place in draft.free(Kind.ID) if _HASH.fullmatch(draft.tokens[place].value)]
    excludes = any(
        draft.is_one_of(place, "excluding") or token.word == "not" or token.word.endswith(("n't", "n\u2019t"))
        for place, token in enumerate(draft.tokens)
    )
    fitting = [each for each in inputs if bool({"not", "no", "without"} & set(each.words)) == excludes]
    draft.set_only(fitting, places)


def fill_revision_paths(draft: Draft) -> None:
    """Join a revision and the only file beside it, where the description gives "<revision>:<path>": "Makefile at v2.1"."""
    inputs = [
        each
        for each in draft.profile.properties
        if each.name in draft.args
        and takes_ref(draft.profile, each)
        and _WITH_PATH.search(f"{draft.profile.entry.description} {each.text}")
    ]
    files = [place for place in draft.free(Kind.PATH) if not draft.tokens[place].value.startswith(("/", "~"))]
    if len(inputs) == len(files) == 1 and ":" not in (revision := str(draft.args[inputs[0].name])):
        draft.args[inputs[0].name] = f"{revision}:{draft.tokens[files[0]].value}"
        draft.used_places.update(files)


def is_ref(draft: Draft, place: int) -> bool:
    """Whether an unused word or value can be a branch, a tag or a commit."""
    token = draft.tokens[place]
    if (
        place in draft.used_places
        or place == draft.part.verb_place
        or _is_labelled(draft, place, _FILES | REPOSITORIES)
    ):
        return False
    if not token.is_word:
        return token.kind is Kind.ID or _is_slashed(token)
    if _is_labelled(draft, place, _NAMED_REFS):
        return token.word in BRANCHES or (is_plain_word(draft, place) and token.word not in PLAIN_WORDS)
    following = place + 1
    ends = (
        following >= len(draft.tokens)
        or not draft.tokens[following].is_word
        or draft.is_filler(following)
        or draft.is_naming(following)
    )
    has_repository = following + 1 < len(draft.tokens) and draft.tokens[following + 1].kind is Kind.SLUG
    is_object = place - 1 == draft.part.verb_place or (draft.is_one_of(place - 1, "particles"))
    return token.word in BRANCHES and ends and (bool(draft.preposition(place - 1)) or has_repository or is_object)


def _is_meant(draft: Draft, each: Property, place: int) -> bool:
    before = _before(draft, place)
    preposition = draft.preposition(before)
    if _is_base(each):
        if each.side == "target":
            return preposition in ("to", "against") or bool(draft.stems(before) & _TARGETING)
        return preposition in ("from", "against") or (
            preposition in ("on", "at") and bool(draft.stems(before - 1) & _BASING)
        )
    return bool(each.is_required or preposition or _is_labelled(draft, place, _REFS))


def _before(draft: Draft, place: int) -> int:
    """Return the place before a value, and before its article and its label."""
    before = place - 1
    while before > 0 and (draft.is_determiner(before) or draft.stems(before) & _REFS - _TARGETING):
        before -= 1
    return before


def _is_base(each: Property) -> bool:
    return "base" in each.words or (each.side == "source" and "branch" in each.words)


def _fill_repository(draft: Draft, *, has_ref: bool) -> None:
    """Set the owner and the repository from "acme/web", or the folder of a repository beside a branch."""
    needed = [each for each in draft.open_inputs() if each.is_required]
    owner = next((each for each in needed if each.role is Role.OWNER), None)
    repo = next((each for each in needed if each.role is Role.REPO), None)
    folders = [each for each in needed if takes_repository(each)]
    places = draft.free(Kind.SLUG)
    if owner and repo and all(each.role is not Role.PATH for each in needed):
        # "nodejs/node.js"
        paths = [place for place in draft.free(Kind.PATH) if draft.tokens[place].value[0] not in "/~."]
        places += [place for place in paths if draft.tokens[place].value.count("/") == 1]
    fits = {place: _fit(draft, place) for place in places}
    best = max(places, key=lambda place: fits[place], default=-1)
    if best < 0 or fits[best] <= _UNLIKE:
        return
    if owner and repo:
        first, _, second = draft.tokens[best].value.partition("/")
        draft.set(owner, first, [best])
        draft.set(repo, second, [best], is_shared=True)
    elif (
        (has_ref or fits[best])
        and len(folders) == 1
        and all(is_file(draft.tokens[place]) for place in draft.free(Kind.PATH))
        and fits[best] >= 0
    ):
        draft.set_text(folders[0], [best])


def _fit(draft: Draft, place: int) -> int:
    """Return how much speaks for a repository rather than for a branch or a folder in it."""
    if _is_labelled(draft, place, REPOSITORIES):
        return _LABELLED
    if _is_labelled(draft, place, _REFS | _FILES):
        return -_LABELLED
    prefix = draft.tokens[place].value.partition("/")[0].lower()
    return _BEFORE_REPO.get(draft.preposition_before(place), -1) - _LABELLED * (prefix in BRANCH_PREFIXES)


def is_unlike_path(draft: Draft, place: int) -> bool:
    """Whether a value such as "release/3.2" is a branch rather than a path of an entry about branches or repositories."""
    is_about_refs = any(
        takes_ref(draft.profile, each) or {"repo", "repository"} & set(each.words) for each in draft.profile.properties
    )
    return is_about_refs and _fit(draft, place) <= _UNLIKE


def _is_slashed(token: Token) -> bool:
    return token.kind is Kind.SLUG or (
        token.kind is Kind.PATH and token.value[0] not in "/~." and token.value[-1] != "/" and not is_file(token)
    )


def _is_labelled(draft: Draft, place: int, labels: frozenset[str]) -> bool:
    """Whether a label is before a value, or behind it: "the branch fix/a", "the develop branch"."""
    before = place - 1
    while before > 0 and _joins(draft, before):
        before -= 1
    if before >= 0 and before != draft.part.verb_place and draft.stems(before) & labels:
        return True
    following, has_article = place + 1, draft.is_determiner(place - 1)
    is_name = has_article or draft.tokens[place].is_word
    return is_name and bool(draft.stems(following) & labels)


def _joins(draft: Draft, place: int) -> bool:
    return draft.tokens[place].value in ":=" or draft.is_naming(place)
