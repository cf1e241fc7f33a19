import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { ROOT } from "../../local/tools/stack/project-root.ts";

test("deploy/client/api.ts is what the OpenAPI document says now", () => {
  const { status, stderr } = spawnSync(process.execPath, [join(ROOT, "deploy", "client", "generate.ts"), "--check"], {
    encoding: "utf8",
  });
  expect([status, stderr]).toEqual([0, ""]);
}, 60_000);
