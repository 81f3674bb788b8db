// The AI SDK with its provider for compatible servers.
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, jsonSchema, stepCountIs, streamText, tool } from "ai";
import { lookUp, main, model as name, schema, secret } from "./common.mjs";

const model = (url) => createOpenAICompatible({ name: "local", baseURL: `${url}/v1`, apiKey: secret })(name);
const tools = { look_up: tool({ description: "read a file", inputSchema: jsonSchema(schema), execute: lookUp }) };
const stopWhen = stepCountIs(5);

async function streamed(options) {
  let failure;
  const result = streamText({ ...options, onError: ({ error }) => (failure = error) });
  let text = "";
  for await (const part of result.textStream) text += part;
  if (failure) throw failure;
  return text;
}

await main({
  chat: async (url, prompt) => (await generateText({ model: model(url), prompt })).text,
  chat_stream: async (url, prompt) => streamed({ model: model(url), prompt }),
  chat_tool: async (url, prompt) => (await generateText({ model: model(url), prompt, tools, stopWhen })).text,
  chat_tool_stream: async (url, prompt) => streamed({ model: model(url), prompt, tools, stopWhen }),
});
