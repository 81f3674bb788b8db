# The public names. This list is the only one: __init__.py reads it at run time, type checkers read it as a stub.

from helmdeck_chains.adaptive import AdaptivePolicy as AdaptivePolicy
from helmdeck_chains.evidence import PRIOR_USABLE as PRIOR_USABLE
from helmdeck_chains.evidence import Estimate as Estimate
from helmdeck_chains.evidence import ModelEvidence as ModelEvidence
from helmdeck_chains.learning import Learning as Learning
from helmdeck_chains.ordering import best_order as best_order
from helmdeck_chains.ordering import expected_cost as expected_cost
from helmdeck_chains.ordering import reservation_value as reservation_value
from helmdeck_chains.posterior import EXPECTED_USABLE as EXPECTED_USABLE
from helmdeck_chains.recorded_savings import recorded_advice as recorded_advice
from helmdeck_chains.savings import Advice as Advice
from helmdeck_chains.savings import AdvisePolicy as AdvisePolicy
from helmdeck_chains.savings import KindAdvice as KindAdvice
from helmdeck_chains.savings import estimate_savings as estimate_savings
from helmdeck_chains.settings import ChainOptions as ChainOptions
from helmdeck_chains.settings import DataOptions as DataOptions
from helmdeck_chains.settings import ModelOptions as ModelOptions
from helmdeck_chains.sharing import kind_text as kind_text
from helmdeck_chains.sharing import replay as replay
from helmdeck_chains.work import kind_of as kind_of
