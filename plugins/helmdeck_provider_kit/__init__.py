"""Building blocks for providers that speak HTTP; importing it does not import an HTTP library.

- **Connections**: a connection pool per provider with timeouts and size limits (``HttpConnection``, ``HttpStream``).
- **Events**: decoders for server-sent events and lines (``EventDecoder``, ``LineDecoder``).
- **Batches**: deltas of one network read stay together (``together``, ``one_by_one``).
- **Bodies**: lenient JSON decoding and field access (``decode_body``, ``decode_json``, ``count``, ``string``, ``word``, ...).
- **Failures**: status and error body are mapped to a failure class by rules that are data (``failure_of``, ``read_error``,
  ``ErrorRules``, ``ErrorFields``).
- **Redaction**: quotations on one line, shortened, without secrets (``quoted``, ``echoed``, ``Secrets``).
- **Stop reasons**: corrected by the content of the response (``in_context``).
- **Requests**: payload encoding and shared parts of payloads (``encode_payload``, ``image_url``, ...).
- **Responses**: events are accumulated to a ``ChatResponse`` (``ResponseReader``).
- **Tracing**: the W3C trace context of the call, which is sent with its requests (``TRACE_CONTEXT``).
- **Providers**: a complete provider, defined by its wire format (``WireFormat``, ``HttpProvider``).

Names may be added here between minor versions.
"""

from helmdeck_core import one_by_one as one_by_one
from helmdeck_guards.redaction import MAX_EXCERPT_CHARS as MAX_EXCERPT_CHARS
from helmdeck_guards.redaction import Secrets as Secrets
from helmdeck_guards.redaction import echoed as echoed
from helmdeck_guards.redaction import quoted as quoted
from helmdeck_guards.redaction import redacted as redacted
from helmdeck_provider_kit.background import Background as Background
from helmdeck_provider_kit.bodies import NOT_JSON as NOT_JSON
from helmdeck_provider_kit.bodies import arguments as arguments
from helmdeck_provider_kit.bodies import count as count
from helmdeck_provider_kit.bodies import decode_body as decode_body
from helmdeck_provider_kit.bodies import decode_json as decode_json
from helmdeck_provider_kit.bodies import native_word as native_word
from helmdeck_provider_kit.bodies import plain_text as plain_text
from helmdeck_provider_kit.bodies import quota as quota
from helmdeck_provider_kit.bodies import rows as rows
from helmdeck_provider_kit.bodies import string as string
from helmdeck_provider_kit.bodies import table as table
from helmdeck_provider_kit.bodies import word as word
from helmdeck_provider_kit.compression import DecodingError as DecodingError
from helmdeck_provider_kit.compression import decompressed as decompressed
from helmdeck_provider_kit.connection import HttpConnection as HttpConnection
from helmdeck_provider_kit.connection import HttpResponse as HttpResponse
from helmdeck_provider_kit.connection import HttpStream as HttpStream
from helmdeck_provider_kit.delta_batches import together as together
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
from helmdeck_provider_kit.partial_tool_call import PartialToolCall as PartialToolCall
from helmdeck_provider_kit.rendering import JSON_STRING_NOTE as JSON_STRING_NOTE
from helmdeck_provider_kit.rendering import Rendered as Rendered
from helmdeck_provider_kit.rendering import arguments_of as arguments_of
from helmdeck_provider_kit.rendering import cache_key as cache_key
from helmdeck_provider_kit.rendering import encode_payload as encode_payload
from helmdeck_provider_kit.rendering import first_stops as first_stops
from helmdeck_provider_kit.rendering import image_data as image_data
from helmdeck_provider_kit.rendering import image_url as image_url
from helmdeck_provider_kit.rendering import names_of_calls as names_of_calls
from helmdeck_provider_kit.rendering import path_segment as path_segment
from helmdeck_provider_kit.rendering import text_of as text_of
from helmdeck_provider_kit.response_reader import END_MARK as END_MARK
from helmdeck_provider_kit.response_reader import ReaderContext as ReaderContext
from helmdeck_provider_kit.response_reader import ResponseReader as ResponseReader
from helmdeck_provider_kit.schema_adapt import AdaptedSchema as AdaptedSchema
from helmdeck_provider_kit.schema_adapt import UnsupportedSchema as UnsupportedSchema
from helmdeck_provider_kit.schema_adapt import adapt_schema as adapt_schema
from helmdeck_provider_kit.schema_constraint import adapted_form as adapted_form
from helmdeck_provider_kit.schema_constraint import constrained as constrained
from helmdeck_provider_kit.schema_constraint import pick_form as pick_form
from helmdeck_provider_kit.schema_dialect import SchemaDialect as SchemaDialect
from helmdeck_provider_kit.settings import checked_base_url as checked_base_url
from helmdeck_provider_kit.settings import checked_headers as checked_headers
from helmdeck_provider_kit.settings import checked_options as checked_options
from helmdeck_provider_kit.settings import provider_options as provider_options
from helmdeck_provider_kit.settings import refused_setting as refused_setting
from helmdeck_provider_kit.sse import EventDecoder as EventDecoder
from helmdeck_provider_kit.sse import LineDecoder as LineDecoder
from helmdeck_provider_kit.sse import ServerEvent as ServerEvent
from helmdeck_provider_kit.sse import may_be_events as may_be_events
from helmdeck_provider_kit.stop_reasons import ends_early as ends_early
from helmdeck_provider_kit.stop_reasons import in_context as in_context
from helmdeck_provider_kit.stop_reasons import looks_truncated as looks_truncated
from helmdeck_provider_kit.trace_context import TRACE_CONTEXT as TRACE_CONTEXT
from helmdeck_provider_kit.wire_format import EventFeed as EventFeed
from helmdeck_provider_kit.wire_format import HttpProvider as HttpProvider
from helmdeck_provider_kit.wire_format import WireFormat as WireFormat
