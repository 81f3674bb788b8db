"""The MCP server: plans, routes and every runnable tool of a deck for any MCP client, over stdio or HTTP.

``transports`` serves, behind ``guard`` over HTTP; ``server`` answers the requests of the protocol with ``tools``, ``resources`` and
``prompts``; ``facade`` has the four tools that stand for hundreds. Everything here is imported when a server starts.
"""
