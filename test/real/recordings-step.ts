import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { callee, startPushing, type Pusher } from "../../local/harness/lead-pusher.ts";
import { startProduct, type Product } from "../../local/harness/product.ts";
import { until } from "../../local/harness/stage.ts";
import { S3_PROGRAM_VARIABLE } from "../../local/real/s3/s3.ts";
import { freePort } from "../../local/tools/stack/ports.ts";
import type { Step } from "./outcome.ts";
import { outcomeOf, type Found } from "./observability/prometheus-step.ts";

const KEYS = { id: "callagent", secret: "a-secret-of-the-test" };
const BUCKET = "recordings";
const START_MS = 30_000;
const CALL_MS = 120_000;
/** What waits is tried again every minute. */
const AGAIN_MS = 150_000;
/** Confirms at the first call. */
const WHO = "01";

/** The server on one port, whose bucket is a folder; it can be killed and comes back with what it had. */
class Bucket {
  readonly url: string;
  readonly folder: string;
  readonly #start: () => ChildProcess;
  #child: ChildProcess | null = null;

  constructor(program: string, port: number, home: string, log: string) {
    this.url = `http://127.0.0.1:${port}`;
    this.folder = join(home, "buckets", BUCKET);
    mkdirSync(this.folder, { recursive: true });
    const out = openSync(`${log}.s3`, "a");
    const env = { ...process.env, ROOT_ACCESS_KEY: KEYS.id, ROOT_SECRET_KEY: KEYS.secret };
    const args = ["--port", `127.0.0.1:${port}`, "posix", join(home, "buckets")];
    this.#start = () => spawn(program, args, { env, stdio: ["ignore", out, out] });
  }

  async up(): Promise<void> {
    this.#child = this.#start();
    const answers = (): Promise<true | undefined> =>
      fetch(this.url).then(
        () => true as const,
        () => undefined,
      );
    await until("the S3 server", answers, START_MS);
  }

  async kill(): Promise<void> {
    const child = this.#child;
    this.#child = null;
    if (child === null) return;
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
  }

  /** The recordings that it holds: their keys. */
  keys(): string[] {
    return readdirSync(this.folder, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".wav"));
  }
}

interface Called {
  lead_id: string;
  call_id: string;
}

/** A lead that is called until its report has come. */
async function called(product: Product, pusher: Pusher, n: number): Promise<Called> {
  const lead_id = await pusher.insist(callee(n, WHO));
  const reported = () => product.sink.delivered.find((d) => d.lead_id === lead_id);
  await until("the report", () => Promise.resolve(reported()), CALL_MS);
  const { call_id } = await product.admin.ask("GET", "/leads/{lead_id}", { path: { lead_id } });
  return { lead_id, call_id: call_id ?? "" };
}

/** What the API serves as the recording of a call; null: not yet. */
async function served({ stack }: Product, { token }: Pusher, { call_id }: Called): Promise<Buffer | null> {
  const headers = { authorization: `Bearer ${token}` };
  const answer = await fetch(`${stack.baseUrl}/leads/recording/${call_id}`, { headers });
  return answer.status === 200 ? Buffer.from(await answer.arrayBuffer()) : null;
}

/** Why what is served is not, byte for byte, what the bucket holds of a lead; null: it is. */
async function fault(product: Product, pusher: Pusher, bucket: Bucket, call: Called): Promise<string | null> {
  try {
    const sound = await until(
      "the recording",
      async () => (await served(product, pusher, call)) ?? undefined,
      AGAIN_MS,
    );
    const keys = bucket.keys().filter((key) => key.includes(call.lead_id));
    const [key] = keys;
    if (key === undefined || keys.length > 1) return `the bucket holds ${keys.length} recordings of it`;
    if (!readFileSync(join(bucket.folder, key)).equals(sound)) return "other bytes are served than the bucket holds";
    return sound.toString("latin1", 0, 4) === "RIFF" ? null : "what is served is no WAV file";
  } catch (error) {
    return String(error);
  }
}

async function scenes(product: Product, bucket: Bucket, folders: ReadonlyMap<string, string>): Promise<Found> {
  const pusher = await startPushing(product);
  const found: Found = {};
  const first = await called(product, pusher, 1);
  found["a call's recording is in the bucket and served from it"] = await fault(product, pusher, bucket, first);
  await bucket.kill();
  const second = await called(product, pusher, 2);
  const waits = () =>
    product.log.some(({ event, call_ref }) => event === "recording.waits" && String(call_ref).includes(second.lead_id));
  found["while the bucket is away the log says that a recording waits"] = await until(
    "recording.waits",
    () => Promise.resolve(waits() || undefined),
    CALL_MS,
  ).then(
    () => null,
    (error: unknown) => String(error),
  );
  found["and it is not served"] = (await served(product, pusher, second)) === null ? null : "it is served";
  await bucket.up();
  found["it is in the bucket once that is back"] = await fault(product, pusher, bucket, second);
  found["the first one is still served"] = await fault(product, pusher, bucket, first);
  const left = [...folders].filter(([, folder]) =>
    readdirSync(folder, { recursive: true, encoding: "utf8" }).some((name) => name.endsWith(".wav")),
  );
  found["no process keeps a file"] =
    left.length === 0 ? null : `a recording is left with ${left.map(([name]) => name).join(", ")}`;
  return found;
}

/** The split product, whose processes share no folder, records calls itself; they are in a real S3 server's bucket, also after that was killed. */
export const recordingsStep: Step = {
  name: "recordings",
  isShort: false,
  async run(env, log) {
    const home = mkdtempSync(join(tmpdir(), "callagent-s3-"));
    const bucket = new Bucket(env[S3_PROGRAM_VARIABLE] ?? "versitygw", await freePort(), home, log);
    const folders = new Map<string, string>();
    let product: Product | undefined;
    try {
      await bucket.up();
      product = await startProduct({
        split: true,
        engine: "cascade",
        timeScale: 1,
        env: {
          RECORDING_SOURCE: "own",
          UPLOAD_CALL_RECORDINGS_TO_CLOUD: "true",
          S3_BUCKET: BUCKET,
          S3_ENDPOINT: bucket.url,
          S3_ACCESS_KEY_ID: KEYS.id,
          S3_SECRET_ACCESS_KEY: KEYS.secret,
        },
        envOf(child) {
          const folder = folders.get(child) ?? join(home, child);
          mkdirSync(folder, { recursive: true });
          folders.set(child, folder);
          return { RECORDINGS_DIR: folder };
        },
      });
      return outcomeOf(await scenes(product, bucket, folders));
    } finally {
      await product?.stop();
      await bucket.kill();
      rmSync(home, { recursive: true, force: true });
    }
  },
};
