// The SDK openai over chat completions.
import OpenAI from "openai";
import { description, main, parameters, reply, tool } from "./adapter.mjs";

const client = (url, key) => new OpenAI({ baseURL: `${url}/v1`, apiKey: key, maxRetries: 0, timeout: 30_000 });

function toMessage(message) {
  if (message.calls) {
    const calls = message.calls.map(({ id, name, arguments: value }) => ({
      id,
      type: "function",
      function: { name, arguments: JSON.stringify(value) },
    }));
    return { role: "assistant", content: null, tool_calls: calls };
  }
  if (message.role === "tool") return { role: "tool", tool_call_id: message.call_id, content: message.text };
  const content = [{ type: "text", text: message.text }];
  if (message.image) content.push({ type: "image_url", image_url: { url: `data:image/png;base64,${message.image}` } });
  if (message.pdf) {
    const file = { filename: "a.pdf", file_data: `data:application/pdf;base64,${message.pdf}` };
    content.push({ type: "file", file });
  }
  return { role: message.role, content: content.length > 1 ? content : message.text };
}

function read(made, deltas = 0) {
  const [choice] = made.choices;
  const calls = (choice.message.tool_calls ?? []).map((each) => ({
    id: each.id,
    name: each.function.name,
    arguments: JSON.parse(each.function.arguments),
  }));
  const usage = [made.usage?.prompt_tokens, made.usage?.completion_tokens];
  return reply(choice.message.content, { calls, finish: choice.finish_reason, usage, deltas });
}

async function chat(url, { key, model, messages, tools, choice, schema, strict, stop, max_tokens, stream, cancel }) {
  const options = { model, messages: messages.map(toMessage), stop, max_tokens };
  if (tools) options.tools = [{ type: "function", function: { name: tool, description, parameters } }];
  if (choice) options.tool_choice = { type: "function", function: { name: choice } };
  if (schema) options.response_format = { type: "json_schema", json_schema: { name: "word", schema, strict } };
  const { completions } = client(url, key).chat;
  if (!stream) return read(await completions.create(options));
  if (cancel) {
    for await (const _ of await completions.create({ ...options, stream: true })) break;
    return reply();
  }
  let deltas = 0;
  const events = completions.stream({ ...options, stream_options: { include_usage: true } });
  events.on("content", () => (deltas += 1));
  return read(await events.finalChatCompletion(), deltas);
}

await main({
  chat,
  embed: async (url, { key, model, texts }) => ({
    vectors: (await client(url, key).embeddings.create({ model, input: texts })).data.map((row) => row.embedding),
  }),
  models: async (url, { key }) => ({ models: (await client(url, key).models.list()).data.map((each) => each.id) }),
});
