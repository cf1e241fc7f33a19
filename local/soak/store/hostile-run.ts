import { MongoClient } from "mongodb";
import { chance } from "../../carriers/exchange/seeded-random.ts";
import { COMMAND_CLASSES, fill, type Client, type CommandClass, type ThingDoc } from "./hostile-commands.ts";
import { Witness } from "./witness.ts";

/** How long a command may go without an answer: the store's own cap is 30 s, and seven others have their slices too. */
const ANSWER_MS = 90_000;

/** What a run is made of. `classes` absent: all; `more`: whether a client that has sent so many commands goes on. */
export interface HostileOptions {
  url: string;
  seed: string;
  clients: number;
  /** How long an answer may take; absent: ninety seconds. */
  answerMs?: number;
  more(sent: number): boolean;
  /** Picks the next class; absent: by chance. */
  next?(client: number, sent: number): CommandClass | undefined;
}

/** What came of a run: how often each class got which answer, and what the witness saw. */
export interface HostileResult {
  answers: Map<CommandClass, Map<string, number>>;
  slowestMs: Map<CommandClass, number>;
  witness: Witness;
  /** Broken promises: late answers, lost or wrong documents. */
  faults: string[];
}

function answerOf(error: unknown): string {
  if (typeof error !== "object" || error === null) return String(error);
  if ("code" in error && (typeof error.code === "number" || typeof error.code === "string")) return String(error.code);
  return error instanceof Error ? error.name : "unknown";
}

/** The answer to one command, or "late". */
async function ask(command: CommandClass, client: Client, answerMs: number): Promise<string> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<string>((resolve) => {
    timer = setTimeout(() => resolve("late"), answerMs);
  });
  const answered = command.run(client).then((said) => (typeof said === "string" ? said : "ok"), answerOf);
  try {
    return await Promise.race([answered, late]);
  } finally {
    clearTimeout(timer);
  }
}

async function send(result: HostileResult, client: Client, o: HostileOptions, number: number): Promise<void> {
  const { answerMs = ANSWER_MS } = o;
  for (let sent = 0; o.more(sent); sent++) {
    const picked =
      o.next === undefined
        ? COMMAND_CLASSES[Math.floor(client.random() * COMMAND_CLASSES.length)]
        : o.next(number, sent);
    if (picked === undefined) return;
    const began = performance.now();
    const answer = await ask(picked, client, answerMs);
    const took = performance.now() - began;
    const counts = result.answers.get(picked) ?? new Map<string, number>();
    counts.set(answer, (counts.get(answer) ?? 0) + 1);
    result.answers.set(picked, counts);
    result.slowestMs.set(picked, Math.max(took, result.slowestMs.get(picked) ?? 0));
    if (answer === "late") result.faults.push(`"${picked.name}" had no answer for ${answerMs} ms`);
  }
}

interface Connected {
  client: Client;
  close(): Promise<void>;
}

async function connected(o: HostileOptions, number: number): Promise<Connected> {
  const mongo = await MongoClient.connect(o.url, { maxPoolSize: 4 });
  let drawn = 0;
  const db = mongo.db(`hostile_${number}`);
  const things = db.collection<ThingDoc>("things");
  const open: Client["open"] = new Set();
  await fill(things);
  return {
    client: { db, things, port: Number(new URL(o.url).port), random: () => chance(o.seed, number, drawn++), open },
    close: async () => {
      for (const socket of open) socket.destroy();
      await mongo.close();
    },
  };
}

/** Runs hostile clients beside a witness in a database of its own, which goes on until the last of them has ended. */
export async function runHostileClients(o: HostileOptions): Promise<HostileResult> {
  const own = await MongoClient.connect(o.url);
  let drawn = 0;
  const witness = new Witness(own.db("witness").collection("docs"), () => chance(o.seed, "witness", drawn++));
  const result: HostileResult = { answers: new Map(), slowestMs: new Map(), witness, faults: witness.faults };
  const all = await Promise.all(Array.from({ length: o.clients }, (_, n) => connected(o, n)));
  try {
    await witness.prepare();
    const enough = new AbortController();
    const sent = Promise.all(all.map(({ client }, n) => send(result, client, o, n))).finally(() => enough.abort());
    while (!enough.signal.aborted) await witness.round();
    await sent;
    await witness.judge();
    return result;
  } finally {
    await Promise.all([own, ...all].map((each) => each.close()));
  }
}
