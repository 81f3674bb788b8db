# A question from the shell, with a document on standard input.
# expect: Paris is the capital of France.
# expect: "capital": "Paris"
cat >helmdeck.toml <<END
model = "workshop/good"

[providers.workshop]
kind = "openai-compatible"
base_url = "$SERVER"
END
helmdeck ask "What is the capital of France?"
echo "The capital of France is Paris." | helmdeck ask -m workshop/json --fields "capital" "read this"
