// What the scripts share: each runs cases of one client and prints one line of JSON per case.
import { readFileSync } from "node:fs";

export const model = process.env.CLIENT_MODEL ?? "fake";
export const secret = "none";
export const lookUp = ({ name }) => readFileSync(name, "utf8");
export const schema = { type: "object", properties: { name: { type: "string" } }, required: ["name"] };

export async function main(cases) {
  const [url, ask, askTool, ...names] = process.argv.slice(2);
  for (const name of names.length ? names : Object.keys(cases)) {
    const row = { case: name, text: "", error: "" };
    try {
      row.text = (await cases[name](url, name.includes("tool") ? askTool : ask)) ?? "";
    } catch (error) {
      row.error = `${error.constructor.name}: ${error.message}`.slice(0, 300);
    }
    console.log(JSON.stringify(row));
  }
}
