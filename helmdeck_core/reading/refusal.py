"""Tells a refusal in prose from other prose.

The rule is a sentence near the beginning in which the writer says of itself that it cannot, or will not, do what it was
asked. A text that only says that something is not there, or cannot be done yet, is no refusal.
"""

from __future__ import annotations

import functools
import re

_BEGINNING = 400  # characters; what a refusal has to say first

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

_ENGLISH = rf"{_SORRY} {_CANNOT} {_DO} | {_CANNOT} {_DO} | {_SORRY} {_CANNOT} \.? \Z"

_OTHERS = r"""
    (?: es [ ] )? tut [ ] mir [ ] (?: sehr [ ] )? leid ,? [ ] [^.!?]{0,40} \b (?: kann | darf | werde ) \b [^.!?]{0,60} \b nicht \b
  | ich [ ] (?: kann | darf | werde ) [ ] [^.!?]{0,60} \b nicht [ ] (?: helfen | unterstützen | weiterhelfen | beantworten | erstellen )
  | (?: je [ ] suis [ ] (?: vraiment [ ] )? désolée? | désolée? ) , [ ] (?: mais [ ] )? je [ ] ne [ ] (?: peux | suis [ ] pas [ ] en [ ] mesure )
  | lo [ ] siento , [ ] (?: pero [ ] )? no [ ] (?: puedo | me [ ] es [ ] posible )
  | (?: desculpe | sinto [ ] muito | lamento ) , [ ] (?: mas [ ] )? (?: eu [ ] )? não [ ] posso
  | mi [ ] dispiace , [ ] (?: ma [ ] )? non [ ] posso
  | (?: 抱歉 | 对不起 | 對不起 | 很遗憾 ) [，,。]? \s* (?: 但 )? 我? (?: 不能 | 无法 | 無法 | 没办法 )
  | 我 (?: 不能 | 无法 | 無法 ) (?: 帮助 | 提供 | 协助 | 回答 | 满足 )
  | (?: 申し訳 | すみません | ごめんなさい ) [^。]{0,40} (?: できません | できかねます | いたしかねます | お手伝い )
"""

_SENTENCE = re.compile(r"[^.!?。\n]*+[.!?。\n]*+\s*+")

_MOST_SENTENCES = 3
"""A refusal is one of the first sentences; what a longer text says later on is about something else."""


@functools.cache
def _refusal() -> re.Pattern[str]:
    """Compiled when the first prose comes, for it costs more than a start-up should."""
    return re.compile(f"{_ENGLISH} | {_OTHERS}", re.VERBOSE | re.IGNORECASE)


def is_refusal(text: str) -> bool:
    """Whether the text refuses to do what was asked."""
    beginning = " ".join(text[:_BEGINNING].replace("*", "").split())
    start = 0
    for _ in range(_MOST_SENTENCES):
        if _refusal().match(beginning, start):
            return True
        sentence = _SENTENCE.match(beginning, start)
        if sentence is None or sentence.end() == start:
            return False
        start = sentence.end()
    return False
