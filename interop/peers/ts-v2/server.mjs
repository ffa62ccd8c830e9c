// The TypeScript SDK v2 peer server: the tools, resources and prompts of interop/README.md on stdio, or on one
// Streamable HTTP endpoint for both eras with --http, where the first line of stdout is the URL.
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import {
  McpServer,
  ResourceTemplate,
  completable,
  createMcpHandler,
  inputRequired,
  inputResponse,
  isLegacyRequest,
} from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { NodeStreamableHTTPServerTransport, toNodeHandler, toWebRequest } from "@modelcontextprotocol/node";
import { z } from "zod";

const text = (t) => ({ content: [{ type: "text", text: t }] });
const starting = (value, ...options) => options.filter((o) => o.startsWith(value ?? ""));
// pause keeps progress apart from the result: the TypeScript clients drop progress that arrives in one chunk with it.
const pause = () => new Promise((resolve) => setTimeout(resolve, 20));
let cancelled = 0;
let modern; // the HTTP handler of 2026-07-28, whose open streams hear of updates

function newServer() {
  const mcp = new McpServer(
    { name: "interop-ts-v2", version: "2.4.0" },
    { instructions: "interop peer", capabilities: { logging: {}, resources: { subscribe: true }, completions: {} } },
  );
  mcp.server.setRequestHandler("resources/subscribe", () => ({}));
  mcp.server.setRequestHandler("resources/unsubscribe", () => ({}));
  plainTools(mcp);
  askingTools(mcp);
  resources(mcp);
  mcp.registerPrompt(
    "greet",
    {
      description: "greets",
      argsSchema: z.object({ name: z.string(), style: completable(z.string(), (v) => starting(v, "formal", "casual")).optional() }),
    },
    ({ name }) => ({ messages: [{ role: "user", content: { type: "text", text: `Greet ${name}` } }] }),
  );
  return mcp;
}

function plainTools(mcp) {
  const message = z.object({ message: z.string() });
  mcp.registerTool("echo", { description: "says it back", inputSchema: message }, ({ message }) => text(message));
  mcp.registerTool(
    "add",
    {
      description: "adds",
      inputSchema: z.object({ a: z.number().int(), b: z.number().int() }),
      outputSchema: z.object({ sum: z.number() }),
    },
    ({ a, b }) => ({ ...text(String(a + b)), structuredContent: { sum: a + b } }),
  );
  mcp.registerTool("fail", { description: "fails" }, () => ({ ...text("as asked"), isError: true }));
  mcp.registerTool("progress", { description: "reports progress", inputSchema: z.object({ steps: z.number().int() }) }, async ({ steps }, ctx) => {
    const progressToken = ctx.mcpReq._meta?.progressToken;
    for (let i = 1; progressToken !== undefined && i <= steps; i++) {
      await ctx.mcpReq.notify({ method: "notifications/progress", params: { progressToken, progress: i, total: steps } });
      await pause();
    }
    return text("done");
  });
  mcp.registerTool("log", { description: "logs", inputSchema: message }, async ({ message }, ctx) => {
    await ctx.mcpReq.log("info", message, "interop");
    return text("logged");
  });
  mcp.registerTool("slow", { description: "waits, unless cancelled", inputSchema: z.object({ ms: z.number().int() }) }, ({ ms }, ctx) =>
    new Promise((resolve, reject) => {
      const timer = setTimeout(() => resolve(text("waited")), ms);
      ctx.mcpReq.signal.addEventListener("abort", () => {
        cancelled++;
        clearTimeout(timer);
        reject(new Error("cancelled"));
      });
    }),
  );
  mcp.registerTool("cancelled", { description: "counts cancelled calls of slow" }, () => text(String(cancelled)));
  mcp.registerTool("touch", { description: "announces test://watched as updated" }, async (ctx) => {
    if (modern && ctx.mcpReq.envelope) modern.notify.resourceUpdated("test://watched");
    else await mcp.server.sendResourceUpdated({ uri: "test://watched" });
    return text("touched");
  });
}

// askingTools is written once: the SDK asks a legacy client outright and calls the tool again with the answer.
function askingTools(mcp) {
  const ask = (ctx, key, request, done) => {
    const answer = inputResponse(ctx.mcpReq.inputResponses, key);
    if (answer.kind === "missing") return inputRequired({ inputRequests: { [key]: request } });
    return text(done(ctx.mcpReq.inputResponses[key]));
  };
  mcp.registerTool("elicit", { description: "asks the user's name" }, (ctx) => {
    const requestedSchema = { type: "object", properties: { name: { type: "string" } }, required: ["name"] };
    return ask(ctx, "name", inputRequired.elicit({ message: "Your name?", requestedSchema }), (a) => `${a.action} ${a.content?.name}`);
  });
  mcp.registerTool("sample", { description: "asks the model", inputSchema: z.object({ prompt: z.string() }) }, ({ prompt }, ctx) => {
    const messages = [{ role: "user", content: { type: "text", text: prompt } }];
    return ask(ctx, "answer", inputRequired.createMessage({ messages, maxTokens: 20 }), (a) => [a.content].flat()[0].text);
  });
  mcp.registerTool("roots", { description: "lists the client's roots" }, (ctx) =>
    ask(ctx, "roots", inputRequired.listRoots(), (a) => a.roots.map((r) => r.uri).join(" ")),
  );
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

// legacy keeps sessions, so that a server can ask on the older revisions too.
function legacy(sessions) {
  return async (req, res, body) => {
    const id = req.headers["mcp-session-id"];
    let transport = id && sessions.get(id);
    if (id && !transport) return res.writeHead(404).end();
    if (!transport) {
      transport = new NodeStreamableHTTPServerTransport({
        sessionIdGenerator: () => randomUUID(),
        onsessioninitialized: (sid) => sessions.set(sid, transport),
        onsessionclosed: (sid) => sessions.delete(sid),
      });
      await newServer().connect(transport);
    }
    await transport.handleRequest(req, res, body);
  };
}

async function readBody(req) {
  let raw = "";
  for await (const chunk of req.setEncoding("utf8")) raw += chunk;
  return raw === "" ? undefined : JSON.parse(raw);
}

if (process.argv.includes("--http")) {
  modern = createMcpHandler(newServer, { legacy: "reject" });
  const serveModern = toNodeHandler(modern);
  const serveLegacy = legacy(new Map());
  const web = createServer(async (req, res) => {
    try {
      const body = req.method === "POST" ? await readBody(req) : undefined;
      const old = await isLegacyRequest(await toWebRequest(req, body), body);
      await (old ? serveLegacy : serveModern)(req, res, body);
    } catch (err) {
      console.error(err);
      if (!res.headersSent) res.writeHead(400).end();
    }
  });
  web.listen(0, "localhost", () => console.log(`http://localhost:${web.address().port}/mcp`));
  process.on("SIGTERM", () => process.exit(0));
} else {
  serveStdio(newServer);
}
