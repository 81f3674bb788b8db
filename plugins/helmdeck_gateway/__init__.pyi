# The public names. This list is the only one: __init__.py reads it at run time, type checkers read it as a stub.

from helmdeck_gateway.accounts.principals import Authoriser as Authoriser
from helmdeck_gateway.accounts.principals import Principal as Principal
from helmdeck_gateway.app import Gateway as Gateway
from helmdeck_gateway.problems import Problem as Problem
from helmdeck_gateway.settings import GatewaySettings as GatewaySettings
