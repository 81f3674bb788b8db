# The public names. This list is the only one: __init__.py reads it at run time, type checkers read it as a stub.

from helmdeck_gateway.accounts.keys import KEY_NAME as KEY_NAME
from helmdeck_gateway.accounts.keys import KeyNameTaken as KeyNameTaken
from helmdeck_gateway.accounts.keys import KeyUnknown as KeyUnknown
from helmdeck_gateway.accounts.keys import NewKey as NewKey
from helmdeck_gateway.accounts.keys import create_key as create_key
from helmdeck_gateway.accounts.keys import digest_of as digest_of
from helmdeck_gateway.accounts.keys import revoke_key as revoke_key
from helmdeck_gateway.accounts.local_only import LocalOnly as LocalOnly
from helmdeck_gateway.accounts.principals import Authoriser as Authoriser
from helmdeck_gateway.accounts.principals import Principal as Principal
from helmdeck_gateway.app import Gateway as Gateway
from helmdeck_gateway.dialects.parsed import Parsed as Parsed
from helmdeck_gateway.dialects.reply import Dialect as Dialect
from helmdeck_gateway.dialects.reply import Opening as Opening
from helmdeck_gateway.dialects.reply import Reply as Reply
from helmdeck_gateway.dialects.reply import StreamWriter as StreamWriter
from helmdeck_gateway.endpoints.calls import CallEndpoint as CallEndpoint
from helmdeck_gateway.http_server.counters import ConfigState as ConfigState
from helmdeck_gateway.problems import Problem as Problem
from helmdeck_gateway.settings import GatewaySettings as GatewaySettings
from helmdeck_gateway.stores import GatewayStore as GatewayStore
from helmdeck_gateway.stores import open_store as open_store
from helmdeck_gateway.stores.records import KeyRecord as KeyRecord
from helmdeck_gateway.stores.records import Limits as Limits
from helmdeck_gateway.stores.records import to_nusd as to_nusd
from helmdeck_gateway.stores.records import to_usd as to_usd
