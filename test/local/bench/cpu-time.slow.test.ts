import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { expect, test } from "@jest/globals";
import { processorOf, processorOfTree } from "../../../local/bench/cpu-time.ts";
import { until } from "../../../local/harness/stage.ts";

const BUSY = `for (let n = 0, end = performance.now() + 60_000; performance.now() < end; ) n++`;

(existsSync("/proc/self/stat") ? test : test.skip)(
  "a process that lives below another counts to its tree",
  async () => {
    const shell = spawn("sh", ["-c", '"$0" -e "$1" & echo started; wait', process.execPath, BUSY], { detached: true });
    await once(shell.stdout, "data");
    const pid = shell.pid ?? 0;
    try {
      await until("the child to use the processor", () => processorOfTree(pid) > 100_000 || undefined);
      expect(processorOf(pid)).toBeLessThan(50_000);
    } finally {
      process.kill(-pid, "SIGKILL");
    }
  },
);
