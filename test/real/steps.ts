import { provideNats } from "../../local/harness/nats-server.ts";
import { demoStep } from "./demo-step.ts";
import { jestStep } from "./jest-step.ts";
import type { Step } from "./outcome.ts";

/** A step of tests that run one process per service. */
const withNats = (step: Step): Step => ({
  ...step,
  run: async (env, log) =>
    (await provideNats()) ? step.run(env, log) : { passed: 0, failed: 1, skipped: [], said: "nats-server is missing" },
});

/** What is done with each part, by its name, in this order. */
export const STEPS: Record<string, readonly Step[]> = {
  documentdb: [
    demoStep,
    jestStep("http", true, ["test/gateway/"]),
    withNats(jestStep("e2e", false, ["test/e2e/"])),
    withNats(jestStep("faults", false, ["test/chaos/fault-suite.test.ts"])),
    jestStep("contract", false, ["test/(?!gateway)[a-z]+/contract/", "test/shared/database/"]),
  ],
  nats: [
    jestStep("bus", true, ["test/e2e/signed-bus.test.ts", "test/shared/bus/nats-permissions.test.ts"]),
    jestStep("replicas", false, ["test/chaos/several-replicas.test.ts"]),
  ],
};
