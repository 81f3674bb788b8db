// The AI SDK with its provider for compatible servers.
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { embedMany, generateText, jsonSchema, Output, streamText, tool } from "ai";
import { description, main, parameters, reply, tool as toolName } from "./adapter.mjs";

const provider = (url, key) =>
  createOpenAICompatible({
    name: "local",
    baseURL: `${url}/v1`,
    apiKey: key,
    includeUsage: true,
    supportsStructuredOutputs: true,
  });

function toMessage(message) {
  if (message.calls) {
    const content = message.calls.map(({ id, name, arguments: input }) => ({
      type: "tool-call",
      toolCallId: id,
      toolName: name,
      input,
    }));
    return { role: "assistant", content };
  }
  if (message.role === "tool") {
    const output = { type: "text", value: message.text };
    return { role: "tool", content: [{ type: "tool-result", toolCallId: message.call_id, toolName: message.name, output }] };
  }
  if (message.role === "assistant") return { role: "assistant", content: message.text };
  const content = [{ type: "text", text: message.text }];
  if (message.image) content.push({ type: "file", data: message.image, mediaType: "image/png" });
  if (message.pdf) content.push({ type: "file", data: message.pdf, mediaType: "application/pdf", filename: "a.pdf" });
  return { role: "user", content };
}

const callsOf = (calls) => calls.map(({ toolCallId, toolName: name, input }) => ({ id: toolCallId, name, arguments: input }));

async function chat(url, { key, model, messages, tools, choice, schema, stop, max_tokens, stream, cancel }) {
  const system = messages.find((each) => each.role === "system")?.text;
  const abort = new AbortController();
  const options = {
    model: provider(url, key)(model),
    messages: messages.filter((each) => each.role !== "system").map(toMessage),
    maxRetries: 0,
    abortSignal: abort.signal,
  };
  if (system) options.system = system;
  if (tools) options.tools = { [toolName]: tool({ description, inputSchema: jsonSchema(parameters) }) };
  if (choice) options.toolChoice = { type: "tool", toolName: choice };
  if (stop) options.stopSequences = stop;
  if (max_tokens) options.maxOutputTokens = max_tokens;
  if (schema) options.output = Output.object({ schema: jsonSchema(schema) });
  if (!stream) {
    const made = await generateText(options);
    const usage = [made.usage.inputTokens, made.usage.outputTokens];
    const text = schema ? JSON.stringify(made.output) : made.text;
    return reply(text, { calls: callsOf(made.toolCalls), finish: made.finishReason, usage });
  }
  let failure;
  const result = streamText({ ...options, onError: ({ error }) => (failure = error) });
  let [text, deltas] = ["", 0];
  for await (const part of result.textStream) {
    text += part;
    deltas += 1;
    if (cancel) {
      abort.abort();
      return reply();
    }
  }
  if (failure) throw failure;
  const { inputTokens, outputTokens } = await result.usage;
  const calls = callsOf(await result.toolCalls);
  return reply(text, { calls, finish: await result.finishReason, usage: [inputTokens, outputTokens], deltas });
}

await main({
  chat,
  embed: async (url, { key, model, texts }) => {
    const options = { model: provider(url, key).embeddingModel(model), values: texts, maxRetries: 0 };
    return { vectors: (await embedMany(options)).embeddings };
  },
});
