# The public names. This list is the only one: __init__.py reads it at run time, type checkers read it as a stub.

from helmdeck_telemetry.request_log.facts import RequestFacts as RequestFacts
from helmdeck_telemetry.request_log.pages import NEWEST as NEWEST
from helmdeck_telemetry.request_log.pages import Filters as Filters
from helmdeck_telemetry.request_log.pages import FilterValues as FilterValues
from helmdeck_telemetry.request_log.pages import RequestPage as RequestPage
from helmdeck_telemetry.request_log.rollups import Figures as Figures
from helmdeck_telemetry.request_log.rollups import ModelFigures as ModelFigures
from helmdeck_telemetry.request_log.sink import RequestSink as RequestSink
from helmdeck_telemetry.request_log.spending import ModelSpend as ModelSpend
from helmdeck_telemetry.request_log.store import Cooldown as Cooldown
from helmdeck_telemetry.request_log.store import OperatorAction as OperatorAction
from helmdeck_telemetry.request_log.store import RequestLog as RequestLog
from helmdeck_telemetry.request_log.store import default_log_path as default_log_path
from helmdeck_telemetry.request_log.texts import RecordedTexts as RecordedTexts
