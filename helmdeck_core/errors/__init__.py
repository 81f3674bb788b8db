"""Every exception of the project.

::

    HelmdeckError
    ├── ConfigError             one or more mistakes in the configuration, reported together
    ├── CatalogError            a catalog cannot be read, or is malformed
    ├── PluginError             a plugin raised, or returned what its hook forbids
    │   ├── PluginLoadError     a plugin cannot be imported or registered
    │   └── PluginConflictError two plugins claim one name
    ├── PackError               a pack failed with one code of a closed set
    └── CallFailed              a model call returned no usable answer; one subclass per FailureClass
        ├── SafetyFiltered  LengthTruncated  ConstrainedDeadlock  LikelyTimeout
        ├── RateLimited  QuotaExhausted  AuthFailed  InvalidRequest
        └── ContextWindowExceeded  ProviderUnavailable  Cancelled  ArtifactInvalid  TransientUnknown

The fields are the data, ``str(exc)`` is the message. No field holds a secret or a whole response body.
"""

from helmdeck_core.errors.attempts import Attempt as Attempt
from helmdeck_core.errors.base import CatalogError as CatalogError
from helmdeck_core.errors.base import ConfigError as ConfigError
from helmdeck_core.errors.base import HelmdeckError as HelmdeckError
from helmdeck_core.errors.base import Mistake as Mistake
from helmdeck_core.errors.base import PluginConflictError as PluginConflictError
from helmdeck_core.errors.base import PluginError as PluginError
from helmdeck_core.errors.base import PluginLoadError as PluginLoadError
from helmdeck_core.errors.causes import FailureClass as FailureClass
from helmdeck_core.errors.failures import FAILURES as FAILURES
from helmdeck_core.errors.failures import SCHEMA_REFUSED as SCHEMA_REFUSED
from helmdeck_core.errors.failures import ArtifactInvalid as ArtifactInvalid
from helmdeck_core.errors.failures import AuthFailed as AuthFailed
from helmdeck_core.errors.failures import CallFailed as CallFailed
from helmdeck_core.errors.failures import Cancelled as Cancelled
from helmdeck_core.errors.failures import ConstrainedDeadlock as ConstrainedDeadlock
from helmdeck_core.errors.failures import ContextWindowExceeded as ContextWindowExceeded
from helmdeck_core.errors.failures import InvalidRequest as InvalidRequest
from helmdeck_core.errors.failures import LengthTruncated as LengthTruncated
from helmdeck_core.errors.failures import LikelyTimeout as LikelyTimeout
from helmdeck_core.errors.failures import ProviderUnavailable as ProviderUnavailable
from helmdeck_core.errors.failures import QuotaExhausted as QuotaExhausted
from helmdeck_core.errors.failures import RateLimited as RateLimited
from helmdeck_core.errors.failures import SafetyFiltered as SafetyFiltered
from helmdeck_core.errors.failures import TransientUnknown as TransientUnknown
from helmdeck_core.errors.pack_codes import PackError as PackError
from helmdeck_core.errors.pack_codes import PackErrorCode as PackErrorCode
from helmdeck_core.errors.usage import AttemptRequest as AttemptRequest
from helmdeck_core.errors.usage import RequestKind as RequestKind
from helmdeck_core.errors.usage import Usage as Usage
from helmdeck_core.errors.usage import total_cost as total_cost
