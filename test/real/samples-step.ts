import { execFile, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { VARIABLES } from "../../local/real/schemathesis/schemathesis.ts";
import { BASE_PATH } from "../../shared/base-path.ts";
import { samplesOf } from "../../services/gateway/docs/code-samples.ts";
import { exampleOf, type Example } from "../../services/gateway/docs/examples.ts";
import { ROUTES } from "../../services/gateway/routes/index.ts";
import type { Row } from "../../services/gateway/routes/row.ts";
import type { Outcome, Step } from "./outcome.ts";

const RUN_MS = 120_000;
const TOKEN = "a.b.c";

/** What a sample sent: the request line, what matters of its headers, its body. */
type Sent = Readonly<Record<"method" | "path" | "token" | "query" | "headers" | "body", unknown>>;

const textOf = async (request: IncomingMessage): Promise<string> => {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return Buffer.concat(parts).toString();
};

/** What a row's sample must send. */
function wanted(row: Row, { path = {}, query = {}, headers = {}, request }: Example): Sent {
  return {
    method: row.method,
    path: BASE_PATH + row.path.replaceAll(/\{([a-z_]+)\}/g, (_, name: string) => encodeURIComponent(path[name] ?? "")),
    token: row.roles === "public" ? undefined : `Bearer ${TOKEN}`,
    query: Object.fromEntries(Object.entries(query).map(([name, value]) => [name, String(value).toLowerCase()])),
    headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])),
    body: request,
  };
}

async function sentIn(request: IncomingMessage, named: readonly string[]): Promise<Sent> {
  const { pathname, searchParams } = new URL(request.url ?? "", "http://localhost");
  const body = await textOf(request);
  return {
    method: request.method,
    path: pathname,
    token: request.headers.authorization,
    query: Object.fromEntries([...searchParams].map(([name, value]) => [name, value.toLowerCase()])),
    headers: Object.fromEntries(named.map((name) => [name, request.headers[name]])),
    body: body === "" ? undefined : (JSON.parse(body) as unknown),
  };
}

/** The programs that run samples; `st`: schemathesis in its own Python, which has the library requests. */
const RUNNERS = {
  curl: (_st: string) => ({ program: "sh", file: "sample.sh" }),
  Python: (st: string) => ({ program: join(dirname(st), "python"), file: "sample.py" }),
} as const;

/** Every sample of the documentation page in curl and Python, really run, must send its example and nothing else. */
export const samplesStep: Step = {
  name: "samples",
  isShort: true,
  async run(env): Promise<Outcome> {
    if (spawnSync("curl", ["--version"]).status !== 0)
      return { passed: 0, failed: 1, skipped: [], said: "curl is missing: apt-get install curl" };
    let named: readonly string[] = [];
    let sent: Sent[] = [];
    const server = createServer((request, response) => {
      void (async () => {
        sent.push(await sentIn(request, named));
        response.writeHead(200, { "content-type": "application/json" }).end("{}");
      })();
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}${BASE_PATH}`;
    const folder = mkdtempSync(join(tmpdir(), "callagent-samples-"));
    const failed: string[] = [];
    let passed = 0;
    try {
      for (const row of ROUTES)
        for (const { language, code } of samplesOf(row, exampleOf(row) ?? {})) {
          if (language === "TypeScript") continue; // test/gateway/docs/code-samples.test.ts
          const { program, file } = RUNNERS[language](env[VARIABLES.program] ?? "");
          const want = wanted(row, exampleOf(row) ?? {});
          named = Object.keys(want.headers as object);
          sent = [];
          const head =
            language === "Python" ? `BASE = "${base}"\nTOKEN = "${TOKEN}"\n` : `BASE=${base}\nTOKEN=${TOKEN}\n`;
          writeFileSync(join(folder, file), `${head}${code}\n`);
          const wrong = await promisify(execFile)(program, [join(folder, file)], { cwd: folder, timeout: RUN_MS }).then(
            () => (JSON.stringify(sent) === JSON.stringify([want]) ? null : `sends ${JSON.stringify(sent)}`),
            (error: unknown) => String(error),
          );
          if (wrong === null) passed++;
          else failed.push(`${row.method} ${row.path} in ${language}: ${wrong}`);
        }
    } finally {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      rmSync(folder, { recursive: true, force: true });
    }
    return { passed, failed: failed.length, skipped: [], said: failed.join("\n") };
  },
};
