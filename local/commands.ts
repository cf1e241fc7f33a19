import { command, type ValuesOf } from "../shared/process/command-line.ts";

const MOST_SEED = 4_294_967_295;

/** `npm run bench`. */
export const BENCH = command({
  name: "bench",
  about: "Measures a part of the product (local/bench/README.md).",
  operands: [
    {
      name: "bench",
      needed: true,
      values: ["events", "guard", "mixed", "push", "schedule", "sessions", "sizing", "speech", "voice", "webhook"],
    },
    { name: "part", many: true },
  ],
  options: {
    json: { kind: "flag", about: "sessions, voice: prints figures for machines" },
    write: { kind: "flag", about: "guard: writes docs/cost.md" },
    short: { kind: "flag", about: "guard: at most three minutes" },
    quick: { kind: "flag", about: "voice: fewer and shorter rounds" },
    profile: { kind: "flag", about: "push, voice: a CPU profile as well, taken apart from what is timed" },
    calls: { kind: "text", value: "50,100", about: "voice, sessions: how many calls at once, step by step" },
    v8: { kind: "text", value: "--flag,…", about: "voice: options of V8 for the process of conversations (--v8=--…)" },
    rate: { kind: "number", value: "n", min: 1, max: 10_000, about: "events, schedule: leads a second" },
    slow: {
      kind: "number",
      value: "n",
      min: 1,
      max: 100,
      default: 1,
      about: "speech: a second of the lines takes so many",
    },
    seed: { kind: "number", value: "n", min: 0, max: 10_000, whole: true, default: 0, about: "speech: other noises" },
    told: { kind: "flag", about: "speech: the recogniser makes no errors, as it is told what callers say" },
    phantom: { kind: "flag", about: "speech: the recogniser writes words for sound without any" },
    pitch: { kind: "flag", about: "speech: voices are told by their pitch, not by the model" },
    tree: {
      kind: "text",
      value: "folder",
      about:
        "speech, voice load: another version's folder, whose service runs; events, schedule: … beside this one; mixed: in half of the replicas",
    },
  },
  notes:
    "Parts: guard: the commit to compare with (HEAD^); voice: rows, load; sessions: delay, load; schedule: rate, parked, killed, equal; speech: conditions, or groups of them.",
});

/** What a bench was asked: its options, and the parts of it by name. */
export interface AskedBench {
  values: ValuesOf<typeof BENCH>;
  parts: readonly string[];
}

/** `npm run soak`. */
export const SOAK = command({
  name: "soak",
  about:
    "Random faults over one process per service under steady pushes, then calm; store: hostile clients on the embedded store.",
  operands: [{ name: "what", values: ["store"] }],
  options: {
    minutes: { kind: "number", value: "n", min: 0.01, max: 10_080, about: "how long (default 30; store: 10)" },
    seed: { kind: "text", value: "text", about: "of what is drawn by chance; absent: another each time" },
  },
});

/** `npm run faults`. */
export const FAULTS = command({
  name: "faults",
  about:
    "Starts the split product, does one thing to it, and judges by the carrier's ledger, GET /leads and a verifying receiver alone.",
  operands: [{ name: "fault", needed: true, many: true }],
  options: {
    seconds: { kind: "number", value: "n", min: 0.001, max: 600, about: "how long the fault lasts" },
    tree: { kind: "text", value: "folder", about: "another version's folder, whose services run" },
  },
});

/** `npm run simulate`. */
export const SIMULATE = command({
  name: "simulate",
  about:
    "Plays the services in virtual time through seeded storms of crashes, stalls and losses; one seed: with its whole trace.",
  options: {
    seed: { kind: "number", value: "n", min: 0, max: MOST_SEED, whole: true, about: "plays this one again" },
    seeds: { kind: "number", value: "n", min: 1, max: MOST_SEED, whole: true, default: 1000, about: "how many" },
    from: { kind: "number", value: "n", min: 0, max: MOST_SEED, whole: true, default: 1, about: "the first of them" },
    workers: { kind: "number", value: "n", min: 1, max: 256, whole: true, about: "threads; absent: one a processor" },
    mutation: { kind: "text", value: "name", about: "takes this guard out, which must be noticed" },
    json: { kind: "flag", about: "prints the result for machines" },
  },
});

/** `npm test`: its arguments are jest's. */
export const TEST = command({
  name: "test",
  about:
    "Checks types, format, linter and what an installation brings in, and runs every test that needs no real time to pass.",
  operands: [{ name: "file or folder", many: true }],
  options: {},
  notes: "With arguments only jest runs, and they go to it: npm test -- test/leads -t 'a duplicate'.",
});

export const TEST_ALL = command({
  name: "test:all",
  about: "npm test, and behind it the slow tests: those that start the product, kill its processes or let time pass.",
  operands: [],
  options: {},
});
