"""English words of requests."""

from __future__ import annotations

from typing import Final

from helmdeck_language.english_words import VERBS
from helmdeck_language.languages.language import Language, by_english, phrases, word_set
from helmdeck_language.verb_classes import ACTIONS

_MORE_VERBS: Final = """
    overwrite undo revert restore ship deploy rollback reschedule unlock archive restock reassign approve reject
    append approximate ascend attach babysit bring buy capture checkout click comment compare contain count deploy descend
    describe diff discard dismiss drag drop duplicate erase evaluate exit expand feed fork geocode go google hover
    hang insert knit kill like look lookup mark mow navigate ping pin polish press push reload reopen reboot refresh
    resolve rerun scroll select shorten shut simulate stage star stash summarise swap tag tap text toggle trigger
    type unstage unpin unsubscribe upvote water wait whois wrap visit watch
"""

ENGLISH: Final = Language(
    code="en",
    verbs={word: word for word in {*VERBS, *_MORE_VERBS.split(), *ACTIONS}},
    words={},
    prepositions=by_english(
        """
        in: in inside within
        at: at
        on: on upon
        near: near around nearby beside
        of: of
        for: for
        to: to into toward towards as onto
        from: from since starting
        about: about regarding concerning
        with: with using via through
        by: by
        between: between
        under: under below
        over: over above
        until: until till
        matching: matching containing like
        against: against
        before: before
        after: after
        than: than
        """
    ),
    function_words=word_set(
        """
        the a an is are was of to and in for what my me please it with from that this on by how i you your do does
        not don't never but can could would all about at into which who where when their them as be it's whats
        """
    ),
    determiners=word_set(
        """
        a an the this that these those my our your his her its their some any every each all no another both it them
        me us him one many more much following
        """
    ),
    lead_ins=word_set(
        """
        please kindly then also now first second third fourth next finally lastly so ok okay just only instead hi hey
        hello and but or plus quickly simply again afterwards afterward additionally furthermore moreover subsequently
        yes well actually alternatively thanks rather immediately
        """
    ),
    lead_in_phrases=phrases(
        "can you|could you|would you|will you|i want to|i want you to|i need to|i need you to|i would like to|"
        "i'd like to|i would like you to|i'd like you to|help me to|help me|let's|let us|let me|go ahead and|"
        "i want|i need|i'd like|i would like|after that|once done|try to|make sure to|make sure you|be sure to|"
        "we need to|we want to|you should|you can|would you mind|do me a favor and|i am looking for a way to|can i|"
        "could i|may i|feel free to|remember to|don't forget to|do not forget to|dont forget to|if possible|for me"
    ),
    joints=word_set("and or plus but while"),
    strong_joints=word_set("then but also afterwards afterward next finally lastly"),
    references=word_set("it that this them these those there its"),
    questions=word_set(
        "what which who whose whom where when why how what's whats who's where's how's when's is are does did do was "
        "were has have will should am"
    ),
    negators=phrases(
        "don't|dont|don’t|do not|never|not|no|nor|neither|avoid|must not|mustn't|should not|shouldn't|shall not|"
        "refrain from|without|except|except for|instead of|rather than|no need to|there is no need to|"
        "under no circumstances|you must not|you should not|you must never|you should never|i don't want|"
        "i do not want|i don't want you to|i do not want you to|i dont want|i don't need|i do not need|we don't want|"
        "we do not want|make sure not to|make sure you don't|make sure that you don't|be careful not to|doesn't|"
        "does not|can't|cannot|can not|leave out|by no means|in no case|without ever|it is not necessary to|"
        "i'd rather not|i would rather not|not even|please don't|please do not|exclude|excluding"
    ),
    positive=phrases(
        "don't forget to|do not forget to|dont forget to|don't forget|do not forget|don't hesitate to|"
        "not only|no later than|not later than|no more than|not more than|no less than|stop the|never mind and|no matter"
    ),
    exclusions=phrases(
        "instead of|rather than|except|except for|but not|and not|or not to|not to|not from|not in|not on|not the|"
        "other than|apart from|excluding|not for|not at|not with|but never|and never|never"
    ),
    action_exclusions=word_set("without"),
    action_endings=("ing",),
    naming=word_set("called named titled entitled labelled labeled saying says stating"),
    nothing=word_set("anything nothing any none anybody anyone nobody nowhere"),
    free_negators=word_set("nothing nobody nowhere"),
)
