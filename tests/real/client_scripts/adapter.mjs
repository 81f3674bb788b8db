// What the adapters of the SDK checks share: one line of JSON per operation in, one line per result out.
import { createInterface } from "node:readline";

export const tool = "look_up";
export const description = "look a word up";
export const parameters = {
  type: "object",
  properties: { word: { type: "string" } },
  required: ["word"],
  additionalProperties: false,
};

export class Unsupported extends Error {}

export const reply = (text, { calls = [], finish = null, usage = [null, null], deltas = 0 } = {}) => ({
  text: text ?? "",
  calls,
  finish,
  usage,
  deltas,
});

function describe(error) {
  const cause = error.status === undefined && error.statusCode === undefined ? (error.lastError ?? error.cause ?? error) : error;
  const described = { class: error.constructor.name, message: String(error.message).slice(0, 500) };
  described.status = cause.status ?? cause.statusCode ?? null;
  const headers = cause.headers ?? cause.responseHeaders;
  if (headers) described.retry_after = headers.get ? headers.get("retry-after") : (headers["retry-after"] ?? null);
  return described;
}

export async function main({ chat, embed, models }) {
  const url = process.argv[2];
  const operations = { chat, embed, models };
  for await (const line of createInterface({ input: process.stdin })) {
    const request = JSON.parse(line);
    let result;
    try {
      const operation = operations[request.op];
      if (!operation) throw new Unsupported(request.op === "embed" ? "no embeddings" : "no list of models");
      result = await operation(url, { key: "right-key-0123456789", ...request.fields });
    } catch (error) {
      result = error instanceof Unsupported ? { unsupported: error.message } : { error: describe(error) };
    }
    process.stdout.write(`${JSON.stringify(result)}\n`);
  }
}
