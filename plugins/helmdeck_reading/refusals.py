r"""Refusals in prose, one pattern per language, as data; ``decoder.refusal_matcher`` applies them.

Each pattern matches a sentence in which the model declines the request. A statement that something does not exist, or
cannot be done yet, is not a refusal. The patterns are written with
``(?x: )``, where a space is ``[ ]``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from helmdeck_core import RefusalPattern, hookimpl

_SORRY = r"""
    (?: (?: i ['’]? m | i [ ] am | we ['’]? re | we [ ] are ) [ ] (?: (?: so | very | really | truly | terribly ) [ ] )? sorry
      | sorry | (?: i [ ] )? apologi[sz]e (?: [ ] for [^.,!]{1,60} )? | (?: my [ ] )? apologies
      | unfortunately | regrettably | as [ ] an? [ ] (?: ai | large [ ] language | language ) \b [^.,!]{0,60}
    ) [,.!:;—–-]? [ ]* (?: (?: but | however ) ,? [ ] )?
"""

_CANNOT = r"""
    (?: i | we ) (?:
        [ ] (?: can [ ]? not | can ['’]? t | could [ ] not | won ['’]? t | will [ ] not | would [ ] not | am [ ] not [ ] going [ ] to )
      | (?: ['’]m | [ ]am | ['’]re | [ ]are ) [ ]
        (?: unable | not [ ] (?: able | allowed | permitted | willing | in [ ] a [ ] position | comfortable (?: [ ] with )? ) )
        (?: [ ] to )?
      | [ ] (?: do [ ] not | don ['’]? t ) [ ] feel [ ] comfortable
      | [ ] (?: (?: must | have [ ] to | need [ ] to ) [ ] )? (?: respectfully [ ] )? (?: decline | refuse ) (?: [ ] to )?
    )
"""

_DO = r"""
    (?: [ ] (?: in [ ] good [ ] conscience | be [ ] able [ ] to | directly | ethically | safely ) )?
    [ ] (?: help (?! [ ] (?: but | it | noticing | feeling | thinking | wondering ) ) | assist | comply | fulfil+ | engage | participate | take [ ] part
      | (?: provid | creat | generat | produc | writ | complet | shar | continu | discuss | answer | support | facilitat | offer | giv
          | carry [ ] out | respond ) (?: e | ing )? (?! \w )
      | do (?: ing )? [ ] (?: that | this | so | what )
    )
"""

PATTERNS: Mapping[str, str] = {
    "en": rf"{_SORRY} {_CANNOT} {_DO} | {_CANNOT} {_DO} | {_SORRY} {_CANNOT} \.? \Z",
    "de": r"""
        (?: es [ ] )? tut [ ] mir [ ] (?: sehr [ ] )? leid ,? [ ] [^.!?]{0,40} \b (?: kann | darf | werde ) \b [^.!?]{0,60} \b nicht \b
      | ich [ ] (?: kann | darf | werde ) [ ] [^.!?]{0,60} \b nicht [ ] (?: helfen | unterstützen | weiterhelfen | beantworten | erstellen )
    """,
    "fr": r"""
        (?: je [ ] suis [ ] (?: vraiment [ ] )? désolée? | désolée? ) , [ ] (?: mais [ ] )?
        je [ ] ne [ ] (?: peux | suis [ ] pas [ ] en [ ] mesure )
    """,
    "es": r"lo [ ] siento , [ ] (?: pero [ ] )? no [ ] (?: puedo | me [ ] es [ ] posible )",
    "pt": r"(?: desculpe | sinto [ ] muito | lamento ) , [ ] (?: mas [ ] )? (?: eu [ ] )? não [ ] posso",
    "it": r"mi [ ] dispiace , [ ] (?: ma [ ] )? non [ ] posso",
    "zh": r"""
        (?: 抱歉 | 对不起 | 對不起 | 很遗憾 ) [，,。]? \s* (?: 但 )? 我? (?: 不能 | 无法 | 無法 | 没办法 )
      | 我 (?: 不能 | 无法 | 無法 ) (?: 帮助 | 提供 | 协助 | 回答 | 满足 )
    """,
    "ja": r"(?: 申し訳 | すみません | ごめんなさい ) [^。]{0,40} (?: できません | できかねます | いたしかねます | お手伝い )",
}
"""Language tag to pattern, in the order in which they are tried."""


@hookimpl
def helmdeck_refusal_patterns() -> Sequence[RefusalPattern]:
    """Languages with observed refusals."""
    return [
        RefusalPattern(language=language, pattern=f"(?x: {pattern} )", order=number)
        for number, (language, pattern) in enumerate(PATTERNS.items())
    ]
