"""The MCP server of a deck: the requests of both protocol eras, answered with the tools, resources and prompts of the deck."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Literal

import mcp_types as types
from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.models import InitializationOptions
from mcp.shared.exceptions import MCPError

from helmdeck_core import CallLimits, Helmdeck, HelmdeckError, did_you_mean
from helmdeck_core.cli import inline_json
from helmdeck_mcp.server.changes import ToolChanges
from helmdeck_mcp.server.content import result_of, text_block
from helmdeck_mcp.server.entries import Tools
from helmdeck_mcp.server.facade import SHOWN, facade_tools
from helmdeck_mcp.server.failures import failure_data, failure_text
from helmdeck_mcp.server.progress import with_progress
from helmdeck_mcp.server.prompts import PROMPTS
from helmdeck_mcp.server.resources import CATALOG_TTL_MS, FIXED_TTL_MS, RESOURCES, Resource
from helmdeck_mcp.server.tools import Tool, ToolCall

logger: logging.Logger = logging.getLogger("helmdeck.mcp_server")

Context = ServerRequestContext[Any, Any]

CALLER_KEY = "helmdeck.caller"
"""The key of an HTTP request's scope with the caller that its token names."""

INSTRUCTIONS = (
    "Helmdeck finds and runs the right tools of a large catalog. For a request that may need several tools, call "
    "helmdeck__plan and run the steps that it returns. Failures name their cause and the next action."
)
FACADE_INSTRUCTIONS = (
    "This server runs many tools that are not listed. Find one with helmdeck__search, read its schema with "
    "helmdeck__describe, run it with helmdeck__call. For a request that needs several tools, call helmdeck__plan."
)

RESOURCE_NOT_FOUND = -32002


def make_server(
    deck: Helmdeck, *, is_facade: bool = False, is_shared: bool = False, limits: CallLimits | None = None
) -> Server[Any]:
    """Return the server of a deck; it does not close the deck.

    :param is_facade: list only search, describe, call and plan.
    :param is_shared: whether several callers use it, so that no shared cache may keep its answers.
    :param limits: of every call.
    """
    from helmdeck_core import __version__

    handlers = _Handlers(deck, is_facade=is_facade, limits=limits or CallLimits())
    changes = handlers.changes

    @contextlib.asynccontextmanager
    async def lifespan(_: Server[Any]) -> AsyncIterator[None]:
        async with changes.watching():
            yield

    scope: Literal["private", "public"] = "private" if is_shared else "public"
    return _Server(
        "helmdeck",
        version=__version__,
        title="Helmdeck",
        instructions=FACADE_INSTRUCTIONS if is_facade else INSTRUCTIONS,
        cache_hints={
            "tools/list": CacheHint(CATALOG_TTL_MS, scope),
            "resources/list": CacheHint(FIXED_TTL_MS, scope),
            "resources/templates/list": CacheHint(FIXED_TTL_MS, scope),
            "prompts/list": CacheHint(FIXED_TTL_MS, scope),
            "server/discover": CacheHint(FIXED_TTL_MS, scope),
        },
        lifespan=lifespan,
        get_tool_input_schema=handlers.input_schema,
        on_subscriptions_listen=changes.listen,
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
        on_list_resources=handlers.list_resources,
        on_list_resource_templates=handlers.list_resource_templates,
        on_read_resource=handlers.read_resource,
        on_list_prompts=handlers.list_prompts,
        on_get_prompt=handlers.get_prompt,
    )


class _Server(Server[Any]):
    def create_initialization_options(
        self, notification_options: NotificationOptions | None = None, *arguments: Any, **options: Any
    ) -> InitializationOptions:
        """Announce to clients of the older protocol that the list of tools may change."""
        changes = notification_options or NotificationOptions(tools_changed=True)
        return super().create_initialization_options(changes, *arguments, **options)


class _Handlers:
    def __init__(self, deck: Helmdeck, *, is_facade: bool, limits: CallLimits) -> None:
        self.deck = deck
        self.is_facade = is_facade
        self.limits = limits
        self.tools = Tools(deck, SHOWN if is_facade else ())
        self.changes = ToolChanges(self.tools)
        self.facade: Mapping[str, Tool] = {tool.name: tool for tool in facade_tools(self.tools)} if is_facade else {}

    def find(self, name: str) -> Tool:
        return self.facade.get(name) or self.tools.find(name)

    def input_schema(self, name: str) -> Mapping[str, Any] | None:
        """Called in the event loop before each call; ``None`` skips a check of headers that no tool here declares."""
        if (tool := self.facade.get(name) or self.tools.own.get(name)) is not None:
            return tool.input_schema
        try:
            tool = self.tools.find(name) if self.tools.loaded_version() is not None else None
        except HelmdeckError:
            return None  # the call itself reports the failure
        return tool.input_schema if tool is not None else None

    async def list_tools(self, context: Context, _: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        self.changes.remember(context)
        shown = await asyncio.to_thread(self._shown)
        return types.ListToolsResult(tools=[types.Tool.model_validate(tool.to_wire(), by_name=False) for tool in shown])

    def _shown(self) -> Sequence[Tool]:
        if self.is_facade:
            return [self.find(name) for name in SHOWN if name in self.facade or name in self.tools.own]
        try:
            tools = self.tools.current()
            self.changes.listed(tools.catalog.version)
            entries = tools.entries
        except HelmdeckError as exc:
            logger.warning("the catalog cannot be loaded, so its tools are not listed: %s", exc)
            entries = {}
        return [*self.tools.own.values(), *(entries[name] for name in sorted(entries))]

    async def call_tool(self, context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        async def send(count: float, message: str) -> None:
            await context.session.report_progress(count, None, message)

        return await with_progress(
            send, f"{params.name} is running", lambda progress: self._outcome(context, params, progress)
        )

    async def _outcome(
        self, context: Context, params: types.CallToolRequestParams, progress: Any
    ) -> types.CallToolResult:
        arguments = params.arguments or {}
        try:
            tool = await asyncio.to_thread(self.find, params.name)
            tool.check(arguments)
            call = ToolCall(
                deck=self.deck, arguments=arguments, caller=_caller(context), progress=progress, limits=self.limits
            )
            return result_of(json.loads(inline_json(dict(await tool.run(call)))))
        except Exception as exc:
            if not isinstance(exc, HelmdeckError):
                logger.exception("the tool %r failed unexpectedly", params.name)
            data = json.loads(inline_json(failure_data(exc)))
            text = text_block(failure_text(params.name, data))
            return types.CallToolResult(content=[text], structured_content={"error": data}, is_error=True)

    def resources(self) -> Sequence[Resource]:
        return sorted(RESOURCES, key=lambda resource: resource.name)

    async def list_resources(self, _: Context, __: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
        rows = [
            types.Resource(
                uri=each.uri,
                name=each.name,
                title=each.title,
                description=each.description,
                mime_type="application/json",
            )
            for each in self.resources()
        ]
        return types.ListResourcesResult(resources=rows)

    async def list_resource_templates(
        self, _: Context, __: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult(resource_templates=[])

    async def read_resource(
        self, context: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        by_uri = {each.uri: each for each in self.resources()}
        uri = str(params.uri)
        if (resource := by_uri.get(uri)) is None:
            message = f"there is no resource {uri!r}{did_you_mean(uri, by_uri)}; resources: {', '.join(by_uri)}"
            raise MCPError(RESOURCE_NOT_FOUND, message, {"uri": uri})
        try:
            text = await asyncio.to_thread(resource.text, self.deck, _caller(context))
        except HelmdeckError as exc:
            data = json.loads(inline_json(failure_data(exc)))
            raise MCPError(types.INTERNAL_ERROR, failure_text(uri, data), data) from exc
        contents = types.TextResourceContents(uri=uri, mime_type="application/json", text=text)
        is_private = resource.is_personal or _caller(context) is not None
        return types.ReadResourceResult(
            contents=[contents], ttl_ms=resource.ttl_ms, cache_scope="private" if is_private else "public"
        )

    async def list_prompts(self, _: Context, __: types.PaginatedRequestParams | None) -> types.ListPromptsResult:
        argument = types.PromptArgument(name="intent", description="The request in plain words.", required=True)
        prompts = [
            types.Prompt(name=each.name, title=each.title, description=each.description, arguments=[argument])
            for each in PROMPTS.values()
        ]
        return types.ListPromptsResult(prompts=prompts)

    async def get_prompt(self, _: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        if (prompt := PROMPTS.get(params.name)) is None:
            message = (
                f"there is no prompt {params.name!r}{did_you_mean(params.name, PROMPTS)}; prompts: {', '.join(PROMPTS)}"
            )
            raise MCPError(types.INVALID_PARAMS, message)
        intent = (params.arguments or {}).get("intent", "").strip()
        if not intent:
            raise MCPError(types.INVALID_PARAMS, f"the prompt {prompt.name!r} needs the argument intent, the request")
        content = types.TextContent(type="text", text=prompt.message(intent))
        return types.GetPromptResult(
            description=prompt.description, messages=[types.PromptMessage(role="user", content=content)]
        )


def _caller(context: Context) -> str | None:
    return context.request.scope.get(CALLER_KEY) if context.request is not None else None
