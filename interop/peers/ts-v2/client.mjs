// The TypeScript SDK v2 peer client: client.mjs [--protocol VERSION] URL | COMMAND ARGS...
// Without a version it probes for the newest era; "legacy" and older versions keep it on initialize.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { Inbox, Skip } from "../report.mjs";
import { answers, parse, tryAll } from "../features.mjs";

const { protocol, target } = parse(process.argv);
const mode = !protocol ? "auto" : protocol >= "2026-07-28" && protocol !== "legacy" ? { pin: protocol } : "legacy";
const client = new Client(
  { name: "interop-ts-v2-client", version: "2.4.0" },
  { capabilities: { sampling: {}, elicitation: {}, roots: { listChanged: true } }, versionNegotiation: { mode } },
);
const logs = new Inbox();
const updates = new Inbox();
client.setRequestHandler("sampling/createMessage", (req) => answers.sample(req.params));
client.setRequestHandler("elicitation/create", () => answers.elicit());
client.setRequestHandler("roots/list", () => answers.roots());
client.setNotificationHandler("notifications/message", (n) => logs.put(n.params.data));
client.setNotificationHandler("notifications/resources/updated", (n) => updates.put(n.params.uri));
const isModern = () => client.getProtocolEra() === "modern";

await tryAll({
  client,
  logs,
  updates,
  async connect() {
    const transport = target[0].startsWith("http")
      ? new StreamableHTTPClientTransport(new URL(target[0]))
      : new StdioClientTransport({ command: target[0], args: target.slice(1), stderr: "inherit" });
    await client.connect(transport);
    return client.getNegotiatedProtocolVersion();
  },
  async ping() {
    if (isModern()) throw new Skip("removed in 2026-07-28");
    await client.ping();
  },
  async setLevel() {
    if (isModern()) return { _meta: { "io.modelcontextprotocol/logLevel": "debug" } };
    await client.setLoggingLevel("debug");
    return {};
  },
  async subscribe(uri) {
    if (isModern()) {
      const subscription = await client.listen({ resourceSubscriptions: [uri] });
      return () => subscription.close();
    }
    await client.subscribeResource({ uri });
    return () => client.unsubscribeResource({ uri });
  },
});
