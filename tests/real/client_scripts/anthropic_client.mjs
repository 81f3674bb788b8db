// The SDK @anthropic-ai/sdk for JavaScript.
import Anthropic from "@anthropic-ai/sdk";
import { lookUp, main, model, schema, secret } from "./common.mjs";

const client = (url) => new Anthropic({ baseURL: url, apiKey: secret });
const asked = (prompt) => ({ model, max_tokens: 500, messages: [{ role: "user", content: prompt }] });
const text = (message) => message.content.map((block) => (block.type === "text" ? block.text : "")).join("");

await main({
  messages: async (url, prompt) => text(await client(url).messages.create(asked(prompt))),
  messages_stream: async (url, prompt) => text(await client(url).messages.stream(asked(prompt)).finalMessage()),
  messages_tool: async (url, prompt) => {
    const asking = asked(prompt);
    const tools = [{ name: "look_up", description: "read a file", input_schema: schema }];
    for (;;) {
      const answer = await client(url).messages.stream({ ...asking, tools }).finalMessage();
      const calls = answer.content.filter((block) => block.type === "tool_use");
      if (!calls.length) return text(answer);
      const results = calls.map(({ id, input }) => ({ type: "tool_result", tool_use_id: id, content: lookUp(input) }));
      asking.messages.push({ role: "assistant", content: answer.content }, { role: "user", content: results });
    }
  },
});
