"""LiteLLM: an answer, a fallback model, and a stream."""

import litellm
from litellm import completion

litellm.suppress_debug_info = True  # an error would print advice

question = [{"role": "user", "content": "What is the capital of France?"}]

response = completion(model="openai/gpt-4.1-mini", messages=question)
print(response.choices[0].message.content)

response = completion(model="openai/gpt-4.1-nano", messages=question, fallbacks=["openai/gpt-4.1"])
print(response.choices[0].message.content)

for chunk in completion(model="openai/gpt-4.1-mini", messages=question, stream=True):
    print(chunk.choices[0].delta.content or "", end="")
