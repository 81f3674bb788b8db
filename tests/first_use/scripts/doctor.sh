# What is wrong with a deployment, with an exit code for scripts.
# expect: reachable
# expect: unreachable: 24
# expect: remedy
cat >helmdeck.toml <<END
model = "workshop/good"

[providers.workshop]
kind = "openai-compatible"
base_url = "$SERVER"
END
helmdeck doctor
HELMDECK_PROVIDERS__WORKSHOP__BASE_URL="http://127.0.0.1:1/v1" helmdeck doctor || echo "unreachable: $?"
