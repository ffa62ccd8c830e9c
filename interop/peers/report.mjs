// How a peer client says what it tried: one JSON line per feature on stdout.
export class Skip extends Error {}

export class Reporter {
  failed = false;

  // try runs one feature within ten seconds and prints how it went.
  async try(feature, run) {
    let line = { feature, ok: true };
    let timer;
    try {
      const limit = new Promise((_, reject) => (timer = setTimeout(() => reject(new Error("timed out")), 10_000)));
      const detail = await Promise.race([run(), limit]);
      if (detail !== undefined) line.detail = String(detail);
    } catch (err) {
      line = { feature, ok: false, skip: err instanceof Skip || undefined, detail: String(err?.message ?? err) };
      this.failed ||= !line.skip;
    } finally {
      clearTimeout(timer);
    }
    console.log(JSON.stringify(line));
  }
}

export function want(what, got, expected) {
  if (got !== expected) throw new Error(`${what}: got ${got}, want ${expected}`);
}

// until polls ok every 20 ms; the feature's own limit ends it.
export async function until(ok) {
  while (!(await ok())) await new Promise((resolve) => setTimeout(resolve, 20));
}

// Inbox keeps what arrives until somebody waits for it.
export class Inbox {
  #items = [];
  #waiting = [];

  put(item) {
    const next = this.#waiting.shift();
    if (next) next(item);
    else this.#items.push(item);
  }

  take() {
    if (this.#items.length > 0) return Promise.resolve(this.#items.shift());
    return new Promise((resolve) => this.#waiting.push(resolve));
  }
}
