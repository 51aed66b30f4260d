// One conversation with the official TypeScript client. `node conversation.mjs URL KEY` prints as JSON what it saw.

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [url, key] = process.argv.slice(2);

async function withClient(work) {
  const client = new Client({ name: "typescript-client", version: "1.0.0" });
  const headers = { Authorization: `Bearer ${key}` };
  const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } });
  await client.connect(transport);
  try {
    const call = (name, args = {}) => client.callTool({ name, arguments: args });
    return await work(client, call);
  } finally {
    await transport.terminateSession();
    await client.close();
  }
}

const seen = await withClient(async (client, call) => {
  const { tools } = await client.listTools();
  const { resources } = await client.listResources();
  await call("memory_start_session");
  await call("memory_store_fact", { category: "preference", fact: "Prefers tabs over spaces." });
  await call("memory_store_fact", { category: "decision", fact: "Deploys on Tuesdays." });
  await call("memory_flag_important", { content: "We keep PostgreSQL.", flag_reason: "Decided." });
  const refusal = await call("memory_store_fact", { category: "colour", fact: "Likes green." });
  await call("memory_end_session", { one_liner: "Chose a database" });
  return {
    server: client.getServerVersion(),
    instructions: client.getInstructions(),
    tools: tools.map((tool) => tool.name),
    resources: resources.map((resource) => resource.uri),
    refusal: { isError: refusal.isError, text: refusal.content[0].text },
  };
});

seen.context = await withClient(async (_, call) => (await call("memory_start_session")).content[0].text);
console.log(JSON.stringify(seen));
