// Calls with the official TypeScript client until standard input ends. `node calls.mjs URL KEY` prints each as a line of
// JSON: when it began and ended (seconds since 1970), and what went wrong. A line on standard input is a pause or its end.

import readline from "node:readline";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [url, key] = process.argv.slice(2);
const client = new Client({ name: "typescript-client", version: "1.0.0" });
const headers = { Authorization: `Bearer ${key}` };
await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));

let paused = false;
let ended = false;
const input = readline.createInterface({ input: process.stdin });
input.on("line", () => (paused = !paused));
input.on("close", () => (ended = true));

while (!ended) {
  await new Promise((resolve) => setTimeout(resolve, 50));
  if (paused) continue;
  const began = Date.now() / 1000;
  let error = "";
  try {
    const reply = await client.callTool({ name: "memory_list_facts", arguments: {} }, undefined, { timeout: 15000 });
    if (reply.isError) error = reply.content[0].text;
  } catch (failure) {
    error = String(failure);
  }
  console.log(JSON.stringify({ began, ended: Date.now() / 1000, error }));
}
process.exit(0);
