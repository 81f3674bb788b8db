// The SDK openai for JavaScript.
import OpenAI from "openai";
import { lookUp, main, model, schema, secret } from "./common.mjs";

const client = (url) => new OpenAI({ baseURL: `${url}/v1`, apiKey: secret });
const asked = (prompt) => [{ role: "user", content: prompt }];

await main({
  chat: async (url, prompt) =>
    (await client(url).chat.completions.create({ model, messages: asked(prompt) })).choices[0].message.content,
  chat_stream: async (url, prompt) =>
    client(url).chat.completions.stream({ model, messages: asked(prompt) }).finalContent(),
  chat_tool: async (url, prompt) => {
    const tool = { name: "look_up", description: "read a file", parameters: schema };
    tool.function = lookUp;
    tool.parse = JSON.parse;
    const tools = [{ type: "function", function: tool }];
    return client(url).chat.completions.runTools({ model, messages: asked(prompt), tools, stream: true }).finalContent();
  },
  responses: async (url, prompt) => (await client(url).responses.create({ model, input: prompt })).output_text,
  responses_stream: async (url, prompt) =>
    (await client(url).responses.stream({ model, input: prompt }).finalResponse()).output_text,
  responses_tool: async (url, prompt) => {
    const tools = [{ type: "function", name: "look_up", description: "read a file", parameters: schema, strict: false }];
    const input = asked(prompt);
    for (;;) {
      const answer = await client(url).responses.stream({ model, input, tools, store: false }).finalResponse();
      const calls = answer.output.filter((item) => item.type === "function_call");
      if (!calls.length) return answer.output_text;
      for (const { type, id, call_id, name, arguments: sent } of calls) {
        input.push({ type, id, call_id, name, arguments: sent });
        input.push({ type: "function_call_output", call_id, output: lookUp(JSON.parse(sent)) });
      }
    }
  },
});
