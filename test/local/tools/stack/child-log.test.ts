import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ChildGroup, FORMER_LOG_FILE, LOG_FILE } from "../../../../local/tools/stack/child-group.ts";
import { openFolder, type Folder } from "../../../../local/tools/stack/data-folder.ts";

const READY = JSON.stringify({ event: "ready", url: "none" });
const OWN = { level: "info", event: "own.line", msg: "as it is" };

/** One start of a stack with a child that says these lines and ends. */
async function start(folder: Folder, lines: readonly string[]): Promise<void> {
  let ended: (reason: string) => void;
  const death = new Promise<string>((resolve) => {
    ended = resolve;
  });
  const group = new ChildGroup(folder, { onLog: () => undefined, onDeath: (reason) => ended(reason) });
  const script = [READY, ...lines].map((line) => `console.log(${JSON.stringify(line)});`).join("");
  const child = await group.start("tiny", { args: ["-e", `${script} process.exitCode = 7;`], ready: "line" });
  await death;
  await child.stop(0);
  await group.stop();
}
const read = (folder: Folder, name: string): unknown[] =>
  readFileSync(folder.at(name), "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as unknown);

test("every line of the log is JSON, whatever a child says and however it ends; the log of the start before is kept", async () => {
  const folder = openFolder(mkdtempSync(join(tmpdir(), "callagent-log-")), false);
  await start(folder, [JSON.stringify(OWN), "no JSON", '{"torn": ']);
  const first = read(folder, LOG_FILE);
  expect(first.slice(0, 4)).toEqual([
    OWN,
    expect.objectContaining({ service: "tiny", event: "process.output", msg: "no JSON" }),
    expect.objectContaining({ service: "tiny", event: "process.output", msg: '{"torn": ' }),
    expect.objectContaining({ service: "tiny", level: "error", event: "process.ended", msg: "tiny ended (exit 7)" }),
  ]);
  await start(folder, []);
  expect(read(folder, FORMER_LOG_FILE)).toEqual(first);
  expect(read(folder, LOG_FILE)[0]).toMatchObject({ event: "process.ended" });
});
