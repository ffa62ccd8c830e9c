// The TypeScript SDK v1 peer server: the tools, resources and prompts of interop/README.md on stdio, or on
// Streamable HTTP (sessions, older revisions only) with --http, where the first line of stdout is the URL.
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { McpServer, ResourceTemplate } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { completable } from "@modelcontextprotocol/sdk/server/completable.js";
import {
  SubscribeRequestSchema,
  UnsubscribeRequestSchema,
  ListRootsResultSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { z } from "zod";

const text = (t) => ({ content: [{ type: "text", text: t }] });
const starting = (value, ...options) => options.filter((o) => o.startsWith(value ?? ""));
// pause keeps progress apart from the result: the TypeScript clients drop progress that arrives in one chunk with it.
const pause = () => new Promise((resolve) => setTimeout(resolve, 20));
let cancelled = 0;

function newServer() {
  const mcp = new McpServer(
    { name: "interop-ts-v1", version: "1.32.2" },
    { instructions: "interop peer", capabilities: { logging: {}, resources: { subscribe: true }, completions: {} } },
  );
  const watched = new Set();
  mcp.server.setRequestHandler(SubscribeRequestSchema, (req) => (watched.add(req.params.uri), {}));
  mcp.server.setRequestHandler(UnsubscribeRequestSchema, (req) => (watched.delete(req.params.uri), {}));
  plainTools(mcp, watched);
  askingTools(mcp);
  resources(mcp);
  mcp.registerPrompt(
    "greet",
    {
      description: "greets",
      argsSchema: { name: z.string(), style: completable(z.string().optional(), (v) => starting(v, "formal", "casual")) },
    },
    ({ name }) => ({ messages: [{ role: "user", content: { type: "text", text: `Greet ${name}` } }] }),
  );
  return mcp;
}

function plainTools(mcp, watched) {
  mcp.registerTool("echo", { description: "says it back", inputSchema: { message: z.string() } }, ({ message }) => text(message));
  mcp.registerTool(
    "add",
    { description: "adds", inputSchema: { a: z.number().int(), b: z.number().int() }, outputSchema: { sum: z.number() } },
    ({ a, b }) => ({ ...text(String(a + b)), structuredContent: { sum: a + b } }),
  );
  mcp.registerTool("fail", { description: "fails" }, () => ({ ...text("as asked"), isError: true }));
  mcp.registerTool("progress", { description: "reports progress", inputSchema: { steps: z.number().int() } }, async ({ steps }, extra) => {
    const progressToken = extra._meta?.progressToken;
    for (let i = 1; progressToken !== undefined && i <= steps; i++) {
      await extra.sendNotification({ method: "notifications/progress", params: { progressToken, progress: i, total: steps } });
      await pause();
    }
    return text("done");
  });
  mcp.registerTool("log", { description: "logs", inputSchema: { message: z.string() } }, async ({ message }, extra) => {
    await extra.sendNotification({ method: "notifications/message", params: { level: "info", logger: "interop", data: message } });
    return text("logged");
  });
  mcp.registerTool("slow", { description: "waits, unless cancelled", inputSchema: { ms: z.number().int() } }, ({ ms }, extra) =>
    new Promise((resolve, reject) => {
      const timer = setTimeout(() => resolve(text("waited")), ms);
      extra.signal.addEventListener("abort", () => {
        cancelled++;
        clearTimeout(timer);
        reject(new Error("cancelled"));
      });
    }),
  );
  mcp.registerTool("cancelled", { description: "counts cancelled calls of slow" }, () => text(String(cancelled)));
  mcp.registerTool("touch", { description: "announces test://watched as updated" }, async () => {
    if (watched.has("test://watched")) await mcp.server.sendResourceUpdated({ uri: "test://watched" });
    return text("touched");
  });
}

function askingTools(mcp) {
  mcp.registerTool("elicit", { description: "asks the user's name" }, async () => {
    const answer = await mcp.server.elicitInput({
      message: "Your name?",
      requestedSchema: { type: "object", properties: { name: { type: "string" } }, required: ["name"] },
    });
    return text(`${answer.action} ${answer.content?.name}`);
  });
  mcp.registerTool("sample", { description: "asks the model", inputSchema: { prompt: z.string() } }, async ({ prompt }) => {
    const answer = await mcp.server.createMessage({
      messages: [{ role: "user", content: { type: "text", text: prompt } }],
      maxTokens: 20,
    });
    return text(answer.content.text);
  });
  mcp.registerTool("roots", { description: "lists the client's roots" }, async (extra) => {
    const answer = await extra.sendRequest({ method: "roots/list" }, ListRootsResultSchema);
    return text(answer.roots.map((r) => r.uri).join(" "));
  });
}

function resources(mcp) {
  const read = (uri) => ({ contents: [{ uri: uri.href, mimeType: "text/plain", text: `text of ${uri.href}` }] });
  mcp.registerResource("text", "test://text", {}, read);
  mcp.registerResource("blob", "test://blob", {}, (uri) => ({
    contents: [{ uri: uri.href, mimeType: "application/octet-stream", blob: "AAEC/w==" }],
  }));
  mcp.registerResource("watched", "test://watched", {}, read);
  mcp.registerResource(
    "item",
    new ResourceTemplate("test://item/{id}", { list: undefined, complete: { id: (v) => starting(v, "1", "12", "2") } }),
    {},
    read,
  );
}

if (process.argv.includes("--http")) {
  const sessions = new Map();
  const web = createServer(async (req, res) => {
    const id = req.headers["mcp-session-id"];
    let transport = id && sessions.get(id);
    if (id && !transport) return res.writeHead(404).end();
    if (!transport) {
      transport = new StreamableHTTPServerTransport({
        sessionIdGenerator: () => randomUUID(),
        onsessioninitialized: (sid) => sessions.set(sid, transport),
        onsessionclosed: (sid) => sessions.delete(sid),
      });
      await newServer().connect(transport);
    }
    await transport.handleRequest(req, res);
  });
  web.listen(0, "localhost", () => console.log(`http://localhost:${web.address().port}/mcp`));
  process.on("SIGTERM", () => process.exit(0));
} else {
  await newServer().connect(new StdioServerTransport());
}
