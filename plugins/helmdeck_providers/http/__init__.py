"""What providers that speak HTTP are made of.

A request goes down on the left, its response comes up on the right::

    ChatRequest                                         ChatDelta, ChatResponse
        |               provider (HttpProvider)                 ^
    wire_format.render, rendering                       response_reader, event_reader, stop_reason_context
        |                                                       ^
        |                                               bodies (whole), sse (streams), compression
        |               connection (HttpConnection)             ^
        +---------------> helmdeck_providers.transports --------+

Failures: ``error_rules`` (types), ``failures`` (status and body to a failure class), ``retry_delays`` (``Retry-After``).
Settings: ``settings`` (checks), ``proxies``. ``background`` polls responses that are created in the background.
"""
