import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Client } from "../tools/api-client.ts";
import { openFolder } from "../tools/stack/data-folder.ts";
import { freePort } from "../tools/stack/ports.ts";
import { seed, type Sample, type SampleTimes } from "../tools/sample/seed.ts";
import { startStack, type Stack, type StackOptions } from "../tools/stack/stack.ts";

/** The product with the sample tenant, in a folder that goes with it. */
export interface BenchStack {
  path: string;
  stack: Stack;
  sample: Sample;
  client: Client;
  stop(): Promise<void>;
}

/** Starts it: one process of services that logs nothing here, unless `more` says otherwise. */
export async function startBenchStack(times: SampleTimes, more: Partial<StackOptions> = {}): Promise<BenchStack> {
  const path = mkdtempSync(join(tmpdir(), "callagent-bench-"));
  const folder = openFolder(path, false);
  const stack = await startStack({
    folder,
    split: false,
    httpPort: await freePort(),
    mediaPort: await freePort(),
    carrierPort: await freePort(),
    timeScale: 1,
    seed: "bench",
    onLog: () => undefined,
    onDeath: (said) => console.error(said),
    ...more,
  });
  const stop = async (): Promise<void> => {
    await stack.stop();
    rmSync(path, { recursive: true, force: true });
  };
  return { path, stack, ...(await seed(stack, folder, times)), stop };
}
