"""Lines that introduce an example of a call. A line that only has a word like "example" in it introduces a real call."""

from __future__ import annotations

_EXAMPLE = r"(?:examples?|samples?|illustrations?|templates?|beispiele?|exemples?|ejemplos?|esempi[oa]?|exemplos?)"
_CALL = r"(?:tools?|functions?|calls?|calling|invocations?|usage|format|syntax|notation)"
_QUALIFIER = (
    rf"(?:an?|the|this|another|one|some|two|more|first|second|next|following|simple|short|small|minimal|basic|quick|concrete"
    rf"|complete|full|code|json|xml|usage|ein|eine|einige|un|une|uno|una|des|{_CALL})"
)
_PRESENTED = (
    r"(?:here(?:['’]s|\sis|\sare)?|(?:this|that|below|following)\s(?:is|are)|these\sare|show|showing|give|giving|provide|consider"
    r"|as|by\sway\sof|hier(?:\sist|\ssind)?|voici|aquí\s(?:está|tienes)|ecco)(?:\s(?:you|me|us))?"
)
_LIKE_THIS = r"(?:\s(?:something\s|roughly\s)?(?:like|as)\b)?(?:\s(?:this|that|so|follows|the\sfollowing|below))?"

EXAMPLE_INTRODUCTION = rf"""(?x)
    (?:
      # "for example", "the format is, e.g."
      \b(?:for\s(?:example|instance)|e\.g\.|to\sillustrate|zum\sbeispiel|z\.\s?b\.|beispielsweise|par\sexemple|por\sejemplo)
      [\s,]*
    | (?:例如|示例|例えば|例)\s*
      # "Example 1", "Here is a simple example of a call", "As an illustration"
    | (?:(?:^|[.!?:]\s)[\W\d_]*|\b{_PRESENTED}\s)(?:{_QUALIFIER}[\s-]){{0,4}}{_EXAMPLE}
      (?:\W*|\s?\#?\d+\b[^.!?]*|\s(?:of|for|with|using|how|that|which|showing|{_CALL})\b[^.!?]*|[\s-]?aufrufe?[^.!?]*)
      # "an example call", "an example of a tool call"
    | \b{_EXAMPLE}[\s-](?:(?:tool|function|api)[\s-])?(?:calls?|invocations?)\b[^.!?]*
    | \b{_EXAMPLE}\s(?:of|for|showing)\s(?:\w+\s){{0,3}}(?:calls?|calling|invocations?)\b[^.!?]*
      # "the format is", "Call syntax", "use this format"
    | \b(?:format|syntax|notation|template|form)\b[^.!?:]*\b(?:is|are|reads){_LIKE_THIS}
    | ^[\W\d_]*(?:{_QUALIFIER}[\s-]){{0,4}}(?:format|syntax|notation)
    | \b(?:in|with|using|use|uses|follow|follows|has|have)\s(?:this|the\sfollowing|that)\s(?:\w+\s){{0,2}}(?:format|syntax|notation|form)
      # "you would write it like this", "it is written as", "a call looks like"
    | \b(?:would|could|can|should|must)\s(?:then\s)?(?:write|emit|output|produce|type)(?:\s(?:it|this|that|one|them|an?\scall|the\scall))?{_LIKE_THIS}
    | \bwrite(?:\s(?:it|this|one|them|an?\scall|the\scall|calls))\s(?:like|as){_LIKE_THIS}
    | \b(?:written|formatted|called|invoked)\s(?:like|as){_LIKE_THIS}
    | \b{_CALL}\s(?:would\s|could\s|should\s|must\s)?looks?\slike{_LIKE_THIS}
    | \b(?:it|that|this|they|one)\s(?:would|could|should|must)\slook\slike{_LIKE_THIS}
    | \b(?:it|that|this|they|one)\slooks?\slike\s(?:this|so|the\sfollowing)
    )
    [\s*_:：\]\)"'`]*$
    """
"""A pattern for the line before a call, up to its end."""
