// A client by the official TypeScript SDK: one call, what the server asks back answered; what came of it, as a line of JSON.
import { pathToFileURL } from "node:url";

const told = JSON.parse(process.argv[2]);
const from = (name) => import(pathToFileURL(`${told.modules}/@modelcontextprotocol/client/dist/${name}.mjs`).href);
const { Client, StreamableHTTPClientTransport } = await from("index");
const { StdioClientTransport } = await from("stdio");

const options = { capabilities: { elicitation: {} }, versionNegotiation: { mode: told.mode } };
const client = new Client({ name: "tests", version: "1" }, options);
let asked = 0;
client.setRequestHandler("elicitation/create", async () => {
  asked += 1;
  return { action: "accept", content: { text: "rent" } };
});
const [command, ...args] = told.words;
const transport = told.url
  ? new StreamableHTTPClientTransport(new URL(told.url))
  : new StdioClientTransport({ command, args, env: process.env, stderr: "inherit" });
await client.connect(transport);
const tools = (await client.listTools()).tools.map((tool) => tool.name);
const result = await client.callTool({ name: told.tool, arguments: told.arguments }, { timeout: 60000 });
console.log(JSON.stringify({ asked, tools, result, version: client.getNegotiatedProtocolVersion() }));
await client.close();
