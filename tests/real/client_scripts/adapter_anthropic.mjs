// The SDK of Anthropic.
import Anthropic from "@anthropic-ai/sdk";
import { description, main, parameters, reply, tool } from "./adapter.mjs";

const client = (url, key) => new Anthropic({ baseURL: url, apiKey: key, maxRetries: 0, timeout: 30_000 });

function toMessage(message) {
  if (message.calls) {
    const calls = message.calls.map(({ id, name, arguments: input }) => ({ type: "tool_use", id, name, input }));
    return { role: "assistant", content: calls };
  }
  if (message.role === "tool") {
    return { role: "user", content: [{ type: "tool_result", tool_use_id: message.call_id, content: message.text }] };
  }
  const content = [{ type: "text", text: message.text }];
  const source = (media_type, data) => ({ type: "base64", media_type, data });
  if (message.image) content.push({ type: "image", source: source("image/png", message.image) });
  if (message.pdf) content.push({ type: "document", source: source("application/pdf", message.pdf) });
  return { role: message.role, content };
}

function read(made, deltas = 0) {
  const text = made.content.map((block) => (block.type === "text" ? block.text : "")).join("");
  const calls = made.content
    .filter((block) => block.type === "tool_use")
    .map(({ id, name, input }) => ({ id, name, arguments: input }));
  const usage = [made.usage.input_tokens, made.usage.output_tokens];
  return reply(text, { calls, finish: made.stop_reason, usage, deltas });
}

async function chat(url, { key, model, messages, tools, choice, schema, stop, max_tokens, stream, cancel }) {
  const system = messages.find((each) => each.role === "system")?.text;
  const turns = messages.filter((each) => each.role !== "system").map(toMessage);
  const options = { model, max_tokens: max_tokens ?? 16_000, messages: turns };
  if (system) options.system = system;
  if (tools) options.tools = [{ name: tool, description, input_schema: parameters }];
  if (choice) options.tool_choice = { type: "tool", name: choice };
  if (stop) options.stop_sequences = stop;
  if (schema) options.output_config = { format: { type: "json_schema", schema } };
  const api = client(url, key).messages;
  if (!stream) return read(await api.create(options));
  if (cancel) {
    for await (const event of await api.create({ ...options, stream: true })) {
      if (event.type === "content_block_delta") break;
    }
    return reply();
  }
  let deltas = 0;
  const events = api.stream(options);
  events.on("text", () => (deltas += 1));
  return read(await events.finalMessage(), deltas);
}

await main({
  chat,
  models: async (url, { key }) => ({ models: (await client(url, key).models.list()).data.map((each) => each.id) }),
});
