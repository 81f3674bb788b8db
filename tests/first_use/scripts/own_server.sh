# Two lines for a server of one's own; the models that it serves; the first answer.
# expect: valid
# expect: workshop/loopback
# expect: Paris is the capital of France.
cat >helmdeck.toml <<END
model = "workshop/good"

[providers.workshop]
kind = "openai-compatible"
base_url = "$SERVER"
END
helmdeck config check && echo valid
helmdeck models workshop
helmdeck ask "What is the capital of France?"
