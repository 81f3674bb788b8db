"""What providers that speak HTTP share, for whoever writes one; importing it imports no HTTP library yet.

- **Transport**: the pool of connections to one provider, with limits of time and size (``Transport``, ``HttpStream``).
- **Events**: pieces off the network become server-sent events or lines (``EventDecoder``, ``LineDecoder``).
- **Batches**: pieces of an answer that came together travel together (``together``, ``one_by_one``).
- **Bodies**: JSON that may be damaged, and the fields in it (``checked``, ``decoded``, ``count``, ``string``, ``word``, ...).
- **Failures**: a status and an error body become a failure class; what the words of a family mean is data of the adapter
  (``failure_of``, ``read_error``, ``ErrorRules``, ``ErrorFields``).
- **Quoting**: what others said, without secrets, in one line, bounded (``quoted``, ``echoed``, ``Secrets``).
- **Endings**: what a stop reason means beside the rest of the answer (``in_context``).
- **Writing**: a payload as bytes, and the parts of it that several interfaces write alike (``encoded``, ``image_url``, ...).
- **Answers**: what the events of an answer come to, with everything that a response tells (``ResponseReader``).
- **Interfaces**: a whole provider, of which only what is special about an interface has to be said (``WireFormat``,
  ``HttpProvider``).

Names may be added here between minor versions.
"""

from helmdeck_core import one_by_one as one_by_one
from helmdeck_core import together as together
from helmdeck_core.redaction import MAX_EXCERPT_CHARS as MAX_EXCERPT_CHARS
from helmdeck_core.redaction import Secrets as Secrets
from helmdeck_core.redaction import echoed as echoed
from helmdeck_core.redaction import quoted as quoted
from helmdeck_core.redaction import redacted as redacted
from helmdeck_provider_kit.answer_reader import END_MARK as END_MARK
from helmdeck_provider_kit.answer_reader import PartialToolCall as PartialToolCall
from helmdeck_provider_kit.answer_reader import ReaderContext as ReaderContext
from helmdeck_provider_kit.answer_reader import ResponseReader as ResponseReader
from helmdeck_provider_kit.answer_reader import native_word as native_word
from helmdeck_provider_kit.answer_reader import rows as rows
from helmdeck_provider_kit.answer_reader import table as table
from helmdeck_provider_kit.background import Background as Background
from helmdeck_provider_kit.bodies import NOT_JSON as NOT_JSON
from helmdeck_provider_kit.bodies import arguments as arguments
from helmdeck_provider_kit.bodies import checked as checked
from helmdeck_provider_kit.bodies import count as count
from helmdeck_provider_kit.bodies import decoded as decoded
from helmdeck_provider_kit.bodies import plain_text as plain_text
from helmdeck_provider_kit.bodies import quota as quota
from helmdeck_provider_kit.bodies import string as string
from helmdeck_provider_kit.bodies import word as word
from helmdeck_provider_kit.connection import HttpConnection as HttpConnection
from helmdeck_provider_kit.connection import HttpResponse as HttpResponse
from helmdeck_provider_kit.connection import HttpStream as HttpStream
from helmdeck_provider_kit.error_rules import combined_rules as combined_rules
from helmdeck_provider_kit.failures import MILLISECONDS_HEADER as MILLISECONDS_HEADER
from helmdeck_provider_kit.failures import Cause as Cause
from helmdeck_provider_kit.failures import ErrorFacts as ErrorFacts
from helmdeck_provider_kit.failures import ErrorFields as ErrorFields
from helmdeck_provider_kit.failures import ErrorRules as ErrorRules
from helmdeck_provider_kit.failures import cause_of as cause_of
from helmdeck_provider_kit.failures import failure_of as failure_of
from helmdeck_provider_kit.failures import read_error as read_error
from helmdeck_provider_kit.failures import request_id as request_id
from helmdeck_provider_kit.failures import retry_after_s as retry_after_s
from helmdeck_provider_kit.interface import EventFeed as EventFeed
from helmdeck_provider_kit.interface import HttpProvider as HttpProvider
from helmdeck_provider_kit.interface import WireFormat as WireFormat
from helmdeck_provider_kit.rendering import JSON_STRING_NOTE as JSON_STRING_NOTE
from helmdeck_provider_kit.rendering import Rendered as Rendered
from helmdeck_provider_kit.rendering import arguments_of as arguments_of
from helmdeck_provider_kit.rendering import cache_key as cache_key
from helmdeck_provider_kit.rendering import encoded as encoded
from helmdeck_provider_kit.rendering import first_stops as first_stops
from helmdeck_provider_kit.rendering import image_data as image_data
from helmdeck_provider_kit.rendering import image_url as image_url
from helmdeck_provider_kit.rendering import names_of_calls as names_of_calls
from helmdeck_provider_kit.rendering import text_of as text_of
from helmdeck_provider_kit.settings import checked_base_url as checked_base_url
from helmdeck_provider_kit.settings import checked_headers as checked_headers
from helmdeck_provider_kit.settings import refused_setting as refused_setting
from helmdeck_provider_kit.sse import EventDecoder as EventDecoder
from helmdeck_provider_kit.sse import LineDecoder as LineDecoder
from helmdeck_provider_kit.sse import ServerEvent as ServerEvent
from helmdeck_provider_kit.sse import may_be_events as may_be_events
from helmdeck_provider_kit.stop_reasons import in_context as in_context
from helmdeck_provider_kit.stop_reasons import looks_cut as looks_cut
