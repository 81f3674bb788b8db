"""What providers that speak HTTP share, for whoever writes one; importing it imports no HTTP library yet.

- **Transport**: the pool of connections to one provider, with limits of time and size (``Transport``, ``Incoming``).
- **Events**: pieces off the network become server-sent events or lines (``EventDecoder``, ``LineDecoder``).
- **Batches**: pieces of an answer that came together travel together (``together``, ``one_by_one``).
- **Bodies**: JSON that may be damaged, and the fields in it (``checked``, ``decoded``, ``count``, ``string``, ``word``, ...).
- **Failures**: a status and an error body become a failure class; what the words of a family mean is data of the adapter
  (``failure_of``, ``read_error``, ``ErrorWords``).
- **Quoting**: what others said, without secrets, in one line, bounded (``quoted``, ``echoed``, ``Secrets``).
- **Endings**: what a stop reason means beside the rest of the answer (``in_context``).
- **Writing**: a payload as bytes, and the parts of it that several interfaces write alike (``encoded``, ``image_url``, ...).
- **Answers**: what the events of an answer come to, with everything that a response tells (``AnswerReader``).
- **Interfaces**: a whole provider, of which only what is special about an interface has to be said (``Interface``,
  ``InterfaceProvider``).

Names may be added here between minor versions.
"""

from helmdeck_core.domain.batches import one_by_one, together
from helmdeck_core.hiding import Secrets
from helmdeck_core.http.answers import AnswerReader, AnswerTerms, GrowingCall, native_word, rows, table
from helmdeck_core.http.background import Background
from helmdeck_core.http.bodies import NOT_JSON, arguments, checked, count, decoded, quota, string, word
from helmdeck_core.http.endings import in_context, looks_cut
from helmdeck_core.http.events import EventDecoder, LineDecoder, ServerEvent, may_be_events
from helmdeck_core.http.failures import (
    Cause,
    ErrorFacts,
    ErrorWords,
    cause_of,
    failure_of,
    read_error,
    request_id,
    retry_after_s,
)
from helmdeck_core.http.interfaces import EventFeed, Interface, InterfaceProvider
from helmdeck_core.http.quoting import MAX_EXCERPT_CHARS, echoed, plain_text, quoted, redacted
from helmdeck_core.http.settings import checked_base_url, checked_headers, refused_setting
from helmdeck_core.http.transport import Incoming, Received, Transport
from helmdeck_core.http.writing import (
    Rendered,
    arguments_of,
    cache_key,
    encoded,
    first_stops,
    image_data,
    image_url,
    names_of_calls,
    text_of,
)

__all__ = [
    "MAX_EXCERPT_CHARS",
    "NOT_JSON",
    "AnswerReader",
    "AnswerTerms",
    "Background",
    "Cause",
    "ErrorFacts",
    "ErrorWords",
    "EventDecoder",
    "EventFeed",
    "GrowingCall",
    "Incoming",
    "Interface",
    "InterfaceProvider",
    "LineDecoder",
    "Received",
    "Rendered",
    "Secrets",
    "ServerEvent",
    "Transport",
    "arguments",
    "arguments_of",
    "cache_key",
    "cause_of",
    "checked",
    "checked_base_url",
    "checked_headers",
    "count",
    "decoded",
    "echoed",
    "encoded",
    "failure_of",
    "first_stops",
    "image_data",
    "image_url",
    "in_context",
    "looks_cut",
    "may_be_events",
    "names_of_calls",
    "native_word",
    "one_by_one",
    "plain_text",
    "quota",
    "quoted",
    "read_error",
    "redacted",
    "refused_setting",
    "request_id",
    "retry_after_s",
    "rows",
    "string",
    "table",
    "text_of",
    "together",
    "word",
]
