// The AI SDK and one vendor: an answer, a typed value, and a stream.
import { openai } from "@ai-sdk/openai";
import { generateText, Output, streamText } from "ai";
import { z } from "zod";

const model = openai.chat("gpt-4.1-mini");

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
