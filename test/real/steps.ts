import { hasProgram } from "../../local/harness/program.ts";
import { NATS_SERVER, provide } from "../../local/real/needed-programs.ts";
import { NATS_TLS_VARIABLE } from "../../local/tools/stack/split-bus.ts";
import { asyncapiStep } from "./asyncapi-step.ts";
import { browserStep } from "./browser-step.ts";
import { demoStep } from "./demo-step.ts";
import { jestStep } from "./jest-step.ts";
import { receiversStep } from "./receivers-step.ts";
import { chartStep } from "./kubernetes-step.ts";
import { rulesStep, scrapeStep } from "./observability/prometheus-step.ts";
import { tracesStep } from "./observability/traces-step.ts";
import { troublesStep } from "./observability/troubles-step.ts";
import { recordingsStep } from "./recordings-step.ts";
import { roomsStep } from "./rooms-step.ts";
import { samplesStep } from "./samples-step.ts";
import { speechStep } from "./speech-step.ts";
import type { Step } from "./outcome.ts";
import { schemathesisStep } from "./schemathesis-step.ts";

const CHROMIUM = "chromium";
/** How many leads the step `kills` calls. */
export const LEADS_VARIABLE = "EVENT_KILL_LEADS";
/** 10,000 leads take 20 minutes of two processors; other work may be beside them, and what was in flight at a kill is waited for. */
const KILLS_MS = 2 * 3_600_000;
/** All that it can do, bounded so that a role takes about two minutes. */
const ALL = { phases: "examples,coverage,fuzzing,stateful", examples: 20, seconds: 120 };

/** A step of tests that run one process per service. */
const withNats = (step: Step): Step => ({
  ...step,
  run: async (env, log) =>
    (await provide(NATS_SERVER))
      ? step.run(env, log)
      : { passed: 0, failed: 1, skipped: [], said: "nats-server is missing" },
});

/** A step with a real browser, which the part `browser` installs. */
const withChromium = (step: Step): Step => ({
  ...step,
  run: async (env, log) =>
    hasProgram(CHROMIUM)
      ? step.run(env, log)
      : { passed: 0, failed: 1, skipped: [], said: "chromium is missing: npm run test:real -- browser installs it" },
});

/** What is done with each part, by its name, in this order. */
export const STEPS: Record<string, readonly Step[]> = {
  documentdb: [
    demoStep,
    jestStep("http", true, ["test/gateway/"]),
    withNats(jestStep("e2e", false, ["test/e2e/"])),
    withNats(jestStep("faults", false, ["test/chaos/fault-suite.slow.test.ts"], { FAULTS: "all" })),
    jestStep("contract", false, ["test/(?!gateway)[a-z]+/contract/", "test/shared/database/"]),
  ],
  "mongo-tools": [jestStep("restore", true, ["test/chaos/restore-drill.slow.test.ts"])],
  nats: [
    jestStep("bus", true, ["test/e2e/signed-bus.slow.test.ts", "test/shared/bus/nats-permissions.test.ts"]),
    jestStep("events", true, ["test/leads/events/jet-stream.test.ts", "test/leads/events/stream-readers.test.ts"]),
    jestStep("replicas", false, ["test/chaos/several-replicas.slow.test.ts"], { FAULTS: "all" }),
    // without TLS, as it reads the bus of the product itself
    jestStep("kills", false, ["--testMatch=**/chaos/event-kills.suite.ts"], { [NATS_TLS_VARIABLE]: "" }, KILLS_MS),
  ],
  "nats-cli": [withNats(jestStep("events", false, ["--testMatch=**/events/command-line.suite.ts"]))],
  livekit: [
    roomsStep("sessions", true, ["--short"]),
    roomsStep("server", false, ["the room server", "a whole conversation, realtime"]),
    withChromium(browserStep("browser", false)),
  ],
  speech: [speechStep],
  browser: [
    browserStep("scenes", false),
    browserStep("short", true, { short: true }),
    browserStep("loopback", false, { short: true, alone: true }),
    withNats(browserStep("split", false, { more: ["--split", "process killed"] })),
  ],
  receivers: [receiversStep],
  asyncapi: [asyncapiStep],
  kubernetes: [chartStep],
  prometheus: [rulesStep, withNats(scrapeStep), withNats(troublesStep)],
  s3: [withNats(recordingsStep)],
  opentelemetry: [withNats(tracesStep)],
  schemathesis: [
    samplesStep,
    // a push in bulk takes as long as all other operations together
    schemathesisStep("short", true, "merchant", {
      phases: "examples,coverage",
      examples: 5,
      seconds: 30,
      without: ["/leads/bulk"],
    }),
    schemathesisStep("merchant", false, "merchant", ALL),
    schemathesisStep("user", false, "user", ALL),
    schemathesisStep("s2s", false, "s2s", ALL),
    schemathesisStep("reseller", false, "reseller", ALL),
    schemathesisStep("admin", false, "admin", ALL),
  ],
};
