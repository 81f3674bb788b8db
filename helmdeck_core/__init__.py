"""Dependable structured answers from a mixed fleet of models: the public names.

Everything that a plugin or an application uses is exported here. Names are imported when they are first used, so that
``import helmdeck_core`` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from helmdeck_core.answers.decoding import (
        Decoder,
    )
    from helmdeck_core.answers.names import (
        NameResolver,
    )
    from helmdeck_core.attempts import (
        Attempt,
        PaidRequest,
        RequestKind,
    )
    from helmdeck_core.config import (
        AgentConfig,
        Config,
        SecretRef,
    )
    from helmdeck_core.configuring import (
        Loaded,
        load_config,
    )
    from helmdeck_core.context.catalogs import (
        load_catalog_file,
        read_catalog,
    )
    from helmdeck_core.context.composing import (
        PromptPart,
    )
    from helmdeck_core.context.ladder import (
        PreparedCatalog,
    )
    from helmdeck_core.deck import (
        Helmdeck,
    )
    from helmdeck_core.dialects import (
        SchemaDialect,
    )
    from helmdeck_core.domain.asking import (
        Answer,
        CatalogIndex,
        FilterCall,
        PromptVariant,
        Question,
        Selection,
    )
    from helmdeck_core.domain.catalog import (
        Catalog,
        CatalogSource,
        Entry,
        EntryData,
        EntryKind,
        TrimRecord,
        TrimStep,
    )
    from helmdeck_core.domain.chat import (
        DISPOSITIONS,
        BatchingProvider,
        ChatDelta,
        ChatRequest,
        ChatResponse,
        Disposition,
        ImagePart,
        ListingProvider,
        Message,
        ModelInfo,
        Provider,
        ProviderContext,
        ProviderSettings,
        ProviderSpec,
        Role,
        StopReason,
        StopReasonTable,
        StreamingProvider,
        TextPart,
        ToolCall,
        ToolCallDelta,
        ToolDefinition,
        Usage,
    )
    from helmdeck_core.domain.constraints import (
        Constraint,
        ResponseFormat,
        SchemaForm,
        SchemaOffer,
        constrained,
    )
    from helmdeck_core.domain.continuation import Continuation, NativeContinuation, Outcome
    from helmdeck_core.domain.decode import (
        Decoded,
        DecodeFailed,
        DecodeStep,
        ReasoningTag,
        StreamStripper,
        Stripped,
    )
    from helmdeck_core.domain.events import (
        AttemptEnded,
        CallAborted,
        CallFinished,
        CallGaveUp,
        CallRef,
        CallStarted,
        CatalogSelected,
        ContinuationAttempt,
        ContinuationTerminated,
        CostUnknown,
        Event,
        FilterFailed,
        HistoryFailed,
        InvariantRestored,
        ProviderRests,
        ReasoningStripped,
        RequestSent,
        SelectionFiltered,
        StopReasonObserved,
        StopReasonUnknown,
        ToolPayloadRepair,
    )
    from helmdeck_core.domain.history import (
        HistoryStore,
        HistoryStoreSpec,
        PlanRecord,
        RecordedStep,
        args_sha,
        intent_sha,
    )
    from helmdeck_core.domain.models import (
        Budget,
        BudgetLookup,
        BudgetRow,
        BudgetTable,
        ModelId,
        Tier,
        resolve_variant,
    )
    from helmdeck_core.domain.packs import (
        Command,
        Output,
        Pack,
        PackContext,
    )
    from helmdeck_core.domain.plans import (
        GAP,
        PIPELINE_RUN,
        UNKNOWN_TOOL,
        Complexity,
        Plan,
        PlanOutcome,
        Recommendation,
        Route,
        RouteKind,
        Step,
    )
    from helmdeck_core.domain.prices import (
        PriceSource,
    )
    from helmdeck_core.domain.ranking import (
        LazyScores,
        Ranker,
        RankIndex,
        Ranking,
        Score,
        should_escalate,
        stand_out,
        top_k,
    )
    from helmdeck_core.domain.recovery import (
        Action,
        Again,
        Changes,
        Limits,
        NextModel,
        RecoveryRule,
        Situation,
        Wait,
    )
    from helmdeck_core.domain.runs import RunKeeper, RunStory
    from helmdeck_core.domain.sinks import EventSink, OpenSink, event_data
    from helmdeck_core.domain.tasks import (
        DoneStep,
        Task,
    )
    from helmdeck_core.domain.texts import SharedText
    from helmdeck_core.domain.tool_calls import (
        BrokenCall,
        DialectKind,
        FoundCall,
        ToolCallDialect,
        ToolCalls,
    )
    from helmdeck_core.errors import (
        FAILURES,
        ArtifactInvalid,
        AuthFailed,
        CallFailed,
        Cancelled,
        CatalogError,
        ConfigError,
        ConstrainedDeadlock,
        ContextWindowExceeded,
        FailureClass,
        HelmdeckError,
        InvalidRequest,
        LengthTruncated,
        LikelyTimeout,
        Mistake,
        PackError,
        PackErrorCode,
        PluginConflictError,
        PluginError,
        PluginLoadError,
        ProviderUnavailable,
        QuotaExhausted,
        RateLimited,
        SafetyFiltered,
        TransientUnknown,
    )
    from helmdeck_core.explaining import (
        Explanation,
    )
    from helmdeck_core.hookspecs import (
        hookimpl,
    )
    from helmdeck_core.narrowing import (
        NarrowedSchema,
        UnsayableSchema,
        narrow_schema,
    )
    from helmdeck_core.rules import (
        SelectionRules,
    )
    from helmdeck_core.schemas import (
        schema_problems,
    )

__version__ = "0.1.0"

_NAMES = {
    "helmdeck_core.attempts": "Attempt PaidRequest RequestKind",
    "helmdeck_core.context.catalogs": "load_catalog_file read_catalog",
    "helmdeck_core.context.composing": "PromptPart",
    "helmdeck_core.config": "AgentConfig Config SecretRef",
    "helmdeck_core.configuring": "Loaded load_config",
    "helmdeck_core.deck": "Helmdeck",
    "helmdeck_core.answers.decoding": "Decoder",
    "helmdeck_core.dialects": "SchemaDialect",
    "helmdeck_core.domain.asking": "Answer CatalogIndex FilterCall PromptVariant Question Selection",
    "helmdeck_core.domain.catalog": "Catalog CatalogSource Entry EntryData EntryKind TrimRecord TrimStep",
    "helmdeck_core.domain.chat": """
        BatchingProvider ChatDelta ChatRequest ChatResponse DISPOSITIONS Disposition ImagePart ListingProvider
        Message ModelInfo Provider ProviderContext ProviderSettings ProviderSpec Role StopReason
        StopReasonTable StreamingProvider TextPart ToolCall ToolCallDelta ToolDefinition Usage
    """,
    "helmdeck_core.domain.constraints": "Constraint ResponseFormat SchemaForm SchemaOffer constrained",
    "helmdeck_core.domain.continuation": "Continuation NativeContinuation Outcome",
    "helmdeck_core.domain.decode": "DecodeFailed DecodeStep Decoded ReasoningTag StreamStripper Stripped",
    "helmdeck_core.domain.events": """
        AttemptEnded CallAborted CallFinished CallGaveUp CallRef CallStarted CatalogSelected
        ContinuationAttempt ContinuationTerminated CostUnknown Event FilterFailed HistoryFailed
        InvariantRestored ProviderRests ReasoningStripped RequestSent SelectionFiltered StopReasonObserved
        StopReasonUnknown ToolPayloadRepair
    """,
    "helmdeck_core.domain.history": "HistoryStore HistoryStoreSpec PlanRecord RecordedStep args_sha intent_sha",
    "helmdeck_core.domain.models": "Budget BudgetLookup BudgetRow BudgetTable ModelId Tier resolve_variant",
    "helmdeck_core.domain.packs": "Command Output Pack PackContext",
    "helmdeck_core.domain.plans": """
        Complexity GAP PIPELINE_RUN Plan PlanOutcome Recommendation Route RouteKind Step UNKNOWN_TOOL
    """,
    "helmdeck_core.domain.prices": "PriceSource",
    "helmdeck_core.domain.ranking": "LazyScores RankIndex Ranker Ranking Score should_escalate stand_out top_k",
    "helmdeck_core.domain.recovery": "Action Again Changes Limits NextModel RecoveryRule Situation Wait",
    "helmdeck_core.domain.runs": "RunKeeper RunStory",
    "helmdeck_core.domain.sinks": "EventSink OpenSink event_data",
    "helmdeck_core.domain.tasks": "DoneStep Task",
    "helmdeck_core.domain.texts": "SharedText",
    "helmdeck_core.domain.tool_calls": "BrokenCall DialectKind FoundCall ToolCallDialect ToolCalls",
    "helmdeck_core.errors": """
        ArtifactInvalid AuthFailed CallFailed Cancelled CatalogError ConfigError ConstrainedDeadlock
        ContextWindowExceeded FAILURES FailureClass HelmdeckError InvalidRequest LengthTruncated
        LikelyTimeout Mistake PackError PackErrorCode PluginConflictError PluginError PluginLoadError
        ProviderUnavailable QuotaExhausted RateLimited SafetyFiltered TransientUnknown
    """,
    "helmdeck_core.explaining": "Explanation",
    "helmdeck_core.hookspecs": "hookimpl",
    "helmdeck_core.context.ladder": "PreparedCatalog",
    "helmdeck_core.answers.names": "NameResolver",
    "helmdeck_core.narrowing": "NarrowedSchema UnsayableSchema narrow_schema",
    "helmdeck_core.rules": "SelectionRules",
    "helmdeck_core.schemas": "schema_problems",
}
"""Every public name under the module that it comes from; a module is imported when one of its names is first used."""

_HOME = {name: module for module, names in _NAMES.items() for name in names.split()}

__all__ = [
    "DISPOSITIONS",
    "FAILURES",
    "GAP",
    "PIPELINE_RUN",
    "UNKNOWN_TOOL",
    "Action",
    "Again",
    "AgentConfig",
    "Answer",
    "ArtifactInvalid",
    "Attempt",
    "AttemptEnded",
    "AuthFailed",
    "BatchingProvider",
    "BrokenCall",
    "Budget",
    "BudgetLookup",
    "BudgetRow",
    "BudgetTable",
    "CallAborted",
    "CallFailed",
    "CallFinished",
    "CallGaveUp",
    "CallRef",
    "CallStarted",
    "Cancelled",
    "Catalog",
    "CatalogError",
    "CatalogIndex",
    "CatalogSelected",
    "CatalogSource",
    "Changes",
    "ChatDelta",
    "ChatRequest",
    "ChatResponse",
    "Command",
    "Complexity",
    "Config",
    "ConfigError",
    "ConstrainedDeadlock",
    "Constraint",
    "ContextWindowExceeded",
    "Continuation",
    "ContinuationAttempt",
    "ContinuationTerminated",
    "CostUnknown",
    "DecodeFailed",
    "DecodeStep",
    "Decoded",
    "Decoder",
    "DialectKind",
    "Disposition",
    "DoneStep",
    "Entry",
    "EntryData",
    "EntryKind",
    "Event",
    "EventSink",
    "Explanation",
    "FailureClass",
    "FilterCall",
    "FilterFailed",
    "FoundCall",
    "Helmdeck",
    "HelmdeckError",
    "HistoryFailed",
    "HistoryStore",
    "HistoryStoreSpec",
    "ImagePart",
    "InvalidRequest",
    "InvariantRestored",
    "LazyScores",
    "LengthTruncated",
    "LikelyTimeout",
    "Limits",
    "ListingProvider",
    "Loaded",
    "Message",
    "Mistake",
    "ModelId",
    "ModelInfo",
    "NameResolver",
    "NarrowedSchema",
    "NativeContinuation",
    "NextModel",
    "OpenSink",
    "Outcome",
    "Output",
    "Pack",
    "PackContext",
    "PackError",
    "PackErrorCode",
    "PaidRequest",
    "Plan",
    "PlanOutcome",
    "PlanRecord",
    "PluginConflictError",
    "PluginError",
    "PluginLoadError",
    "PreparedCatalog",
    "PriceSource",
    "PromptPart",
    "PromptVariant",
    "Provider",
    "ProviderContext",
    "ProviderRests",
    "ProviderSettings",
    "ProviderSpec",
    "ProviderUnavailable",
    "Question",
    "QuotaExhausted",
    "RankIndex",
    "Ranker",
    "Ranking",
    "RateLimited",
    "ReasoningStripped",
    "ReasoningTag",
    "Recommendation",
    "RecordedStep",
    "RecoveryRule",
    "RequestKind",
    "RequestSent",
    "ResponseFormat",
    "Role",
    "Route",
    "RouteKind",
    "RunKeeper",
    "RunStory",
    "SafetyFiltered",
    "SchemaDialect",
    "SchemaForm",
    "SchemaOffer",
    "Score",
    "SecretRef",
    "Selection",
    "SelectionFiltered",
    "SelectionRules",
    "SharedText",
    "Situation",
    "Step",
    "StopReason",
    "StopReasonObserved",
    "StopReasonTable",
    "StopReasonUnknown",
    "StreamStripper",
    "StreamingProvider",
    "Stripped",
    "Task",
    "TextPart",
    "Tier",
    "ToolCall",
    "ToolCallDelta",
    "ToolCallDialect",
    "ToolCalls",
    "ToolDefinition",
    "ToolPayloadRepair",
    "TransientUnknown",
    "TrimRecord",
    "TrimStep",
    "UnsayableSchema",
    "Usage",
    "Wait",
    "args_sha",
    "constrained",
    "event_data",
    "hookimpl",
    "intent_sha",
    "load_catalog_file",
    "load_config",
    "narrow_schema",
    "read_catalog",
    "resolve_variant",
    "schema_problems",
    "should_escalate",
    "stand_out",
    "top_k",
]


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
