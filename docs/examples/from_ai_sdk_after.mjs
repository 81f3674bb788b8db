// The AI SDK and the gateway: an answer, a typed value, and a stream.
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, Output, streamText } from "ai";
import { z } from "zod";

const gateway = createOpenAICompatible({
  name: "gateway",
  baseURL: process.env.GATEWAY_URL ?? "http://127.0.0.1:8930/v1",
  apiKey: process.env.GATEWAY_KEY ?? "any",
  supportsStructuredOutputs: true,
});
const model = gateway("openai/gpt-4.1-mini");

const { text } = await generateText({ model, prompt: "What is the capital of France?" });
console.log(text);

const city = z.object({ name: z.string(), country: z.string() });
const { output } = await generateText({
  model,
  output: Output.object({ schema: city }),
  prompt: "Which city has the Eiffel Tower?",
});
console.log(output);

for await (const part of streamText({ model, prompt: "What is the capital of France?" }).textStream) {
  process.stdout.write(part);
}
