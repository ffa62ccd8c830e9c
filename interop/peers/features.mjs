// The features every TypeScript client tries; what differs between the SDKs is behind `peer`.
import { Reporter, want, until } from "./report.mjs";

const first = (res) => {
  if (res.isError) throw new Error(`tool error: ${JSON.stringify(res.content)}`);
  return res.content[0].text;
};

// peer: { connect, ping, client, setLevel, subscribe, inboxes: {logs, updates}, modern }
export async function tryAll(peer) {
  const report = new Reporter();
  await report.try("initialize", () => peer.connect());
  if (report.failed) process.exit(1);
  const { client } = peer;
  const call = async (name, args = {}, options) => first(await client.callTool({ name, arguments: args }, options));
  await report.try("ping", () => peer.ping());
  await report.try("tools", async () => {
    const { tools } = await client.listTools();
    if (!tools.some((t) => t.name === "echo")) throw new Error("no tool echo");
    want("echo", await call("echo", { message: "grüße 🎈" }), "grüße 🎈");
    const sum = await client.callTool({ name: "add", arguments: { a: 2, b: 3 } });
    want("add", sum.structuredContent?.sum, 5);
    return `${tools.length} tools`;
  });
  await report.try("tool-error", async () => want("isError", (await client.callTool({ name: "fail", arguments: {} })).isError, true));
  await report.try("resources", async () => {
    const { resources } = await client.listResources();
    want("text", (await client.readResource({ uri: "test://text" })).contents[0].text, "text of test://text");
    want("blob", (await client.readResource({ uri: "test://blob" })).contents[0].blob, "AAEC/w==");
    return `${resources.length} resources`;
  });
  await report.try("resource-templates", async () => {
    want("template", (await client.listResourceTemplates()).resourceTemplates[0].uriTemplate, "test://item/{id}");
    want("uri", (await client.readResource({ uri: "test://item/7" })).contents[0].uri, "test://item/7");
  });
  await report.try("prompts", async () => {
    await client.listPrompts();
    const res = await client.getPrompt({ name: "greet", arguments: { name: "Ada" } });
    want("prompt", res.messages[0].content.text, "Greet Ada");
  });
  await report.try("completion", async () => {
    const style = await client.complete({ ref: { type: "ref/prompt", name: "greet" }, argument: { name: "style", value: "f" } });
    want("style", style.completion.values.join(), "formal");
    const id = await client.complete({ ref: { type: "ref/resource", uri: "test://item/{id}" }, argument: { name: "id", value: "1" } });
    want("id", id.completion.values.join(), "1,12");
  });
  await report.try("logging", async () => {
    const extra = await peer.setLevel();
    await client.callTool({ name: "log", arguments: { message: "hello log" }, ...extra });
    want("log", await peer.logs.take(), "hello log");
  });
  await report.try("progress", async () => {
    const seen = [];
    await call("progress", { steps: 3 }, { onprogress: (p) => seen.push(p.progress) });
    want("progress", seen.join(), "1,2,3");
    return "3 notifications";
  });
  await report.try("cancellation", async () => {
    const before = await call("cancelled");
    const abort = new AbortController();
    setTimeout(() => abort.abort(), 300);
    await call("slow", { ms: 60000 }, { signal: abort.signal }).then(
      () => Promise.reject(new Error("a cancelled call answered")),
      () => {},
    );
    await until(async () => (await call("cancelled")) !== before);
  });
  await report.try("subscriptions", async () => {
    const stop = await peer.subscribe("test://watched");
    await call("touch");
    want("uri", await peer.updates.take(), "test://watched");
    await stop();
  });
  await report.try("sampling", async () => want("sample", await call("sample", { prompt: "hi" }), "model says hi"));
  await report.try("elicitation", async () => want("elicit", await call("elicit"), "accept Ada"));
  await report.try("roots", async () => want("roots", await call("roots"), "file:///interop"));
  await report.try("close", () => client.close());
  process.exit(report.failed ? 1 : 0);
}

// answers are what the user and the model behind a peer client say.
export const answers = {
  sample: (params) => ({
    role: "assistant",
    model: "interop",
    content: { type: "text", text: `model says ${[params.messages[0].content].flat()[0].text}` },
  }),
  elicit: () => ({ action: "accept", content: { name: "Ada" } }),
  roots: () => ({ roots: [{ uri: "file:///interop", name: "interop" }] }),
};

// parse splits the command line: [--protocol VERSION] URL | COMMAND ARGS...
export function parse(argv) {
  const args = argv.slice(2);
  let protocol;
  if (args[0] === "--protocol") [, protocol] = args.splice(0, 2);
  if (args.length === 0) throw new Error("usage: client [--protocol VERSION] URL | COMMAND ARGS...");
  return { protocol, target: args };
}
