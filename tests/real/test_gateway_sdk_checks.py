"""The same checks with every SDK: a check passes unless the SDK has no such operation.

``GATEWAY_TEST_CLIENTS`` names folders with the SDKs, which ``benchmarks/gateway_clients/install.sh FOLDER`` installs.
"""

import pytest

from benchmarks.gateway_sdks.checks import CHECKS
from benchmarks.gateway_sdks.clients import SDKS
from benchmarks.gateway_sdks.runner import FAILED, run_checks
from benchmarks.gateway_sdks.stored_checks import STORED_CHECKS


@pytest.mark.parametrize("name", SDKS)
def test_sdk_passes_every_check_that_it_has_an_operation_for(name):
    sdk = SDKS[name]
    if reason := sdk.reason():
        pytest.skip(reason)
    results = run_checks(sdk, [*CHECKS, *STORED_CHECKS])
    assert {check: result.reason for check, result in results.items() if result.mark == FAILED} == {}
