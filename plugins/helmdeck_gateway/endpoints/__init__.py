"""The ASGI endpoints, one module for each kind of request; ``calls`` serves chats, ``bodies`` reads and limits their bodies."""
