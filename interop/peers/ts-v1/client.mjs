// The TypeScript SDK v1 peer client: client.mjs URL | COMMAND ARGS... It speaks the older revisions only.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  LoggingMessageNotificationSchema,
  ResourceUpdatedNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { Inbox } from "../report.mjs";
import { answers, parse, tryAll } from "../features.mjs";

const { target } = parse(process.argv);
const client = new Client(
  { name: "interop-ts-v1-client", version: "1.32.2" },
  { capabilities: { sampling: {}, elicitation: {}, roots: { listChanged: true } } },
);
// The options are the third parameter here and the second in v2.
const callTool = client.callTool.bind(client);
client.callTool = (params, options) => callTool(params, undefined, options);
const logs = new Inbox();
const updates = new Inbox();
client.setRequestHandler(CreateMessageRequestSchema, (req) => answers.sample(req.params));
client.setRequestHandler(ElicitRequestSchema, () => answers.elicit());
client.setRequestHandler(ListRootsRequestSchema, () => answers.roots());
client.setNotificationHandler(LoggingMessageNotificationSchema, (n) => logs.put(n.params.data));
client.setNotificationHandler(ResourceUpdatedNotificationSchema, (n) => updates.put(n.params.uri));

await tryAll({
  client,
  logs,
  updates,
  async connect() {
    const transport = target[0].startsWith("http")
      ? new StreamableHTTPClientTransport(new URL(target[0]))
      : new StdioClientTransport({ command: target[0], args: target.slice(1), stderr: "inherit" });
    // The SDK tells the version to nobody but the transport.
    let version;
    const agree = transport.setProtocolVersion?.bind(transport);
    transport.setProtocolVersion = (v) => ((version = v), agree?.(v));
    await client.connect(transport);
    return version;
  },
  ping: async () => void (await client.ping()),
  setLevel: async () => (await client.setLoggingLevel("debug"), {}),
  async subscribe(uri) {
    await client.subscribeResource({ uri });
    return () => client.unsubscribeResource({ uri });
  },
});
