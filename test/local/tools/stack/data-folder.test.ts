import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beganAt, lockFolder, openFolder, ownRun } from "../../../../local/tools/stack/data-folder.ts";

const folder = () => openFolder(mkdtempSync(join(tmpdir(), "callagent-folder-")), false);

describe("a start with --fresh", () => {
  test("leaves nothing of the installation before: no lead, no secret, no recording", () => {
    const data = folder();
    for (const name of ["store", "recordings", "bus"]) {
      mkdirSync(data.at(name));
      writeFileSync(data.at(join(name, "file")), "x");
    }
    for (const name of ["secrets.json", "sample.json", "sample.env", "ledger.ndjson"])
      writeFileSync(data.at(name), "{}");
    writeFileSync(data.at("mine.txt"), "not ours");
    openFolder(data.path, true);
    const left = ["store", "recordings", "bus", "secrets.json", "sample.json", "sample.env", "ledger.ndjson"];
    expect(left.filter((name) => existsSync(data.at(name)))).toEqual([]);
    expect(existsSync(data.at("mine.txt"))).toBe(true);
  });
});

test("a file that is torn is named, with what to do", () => {
  const data = folder();
  writeFileSync(data.at("secrets.json"), "{");
  expect(() => data.readJson("secrets.json")).toThrow(/secrets\.json is no valid JSON: delete it, or .*--fresh/);
});

test("a folder that no system can make is refused at once", () =>
  expect(() => openFolder("/proc/nope/data", false)).toThrow(/\/proc\/nope\/data can't be written .*CALLAGENT_DATA/));

describe("the lock of a folder", () => {
  const other = async (work: (pid: number) => void): Promise<void> => {
    const child = spawn(process.execPath, ["-e", "process.stdin.resume()"], { stdio: ["pipe", "ignore", "ignore"] });
    await once(child, "spawn");
    try {
      work(child.pid ?? 0);
    } finally {
      child.stdin.end();
      await once(child, "exit");
    }
  };

  test("is not held by a file that was torn when the machine went down", () => {
    const data = folder();
    writeFileSync(data.at("run.json"), '{"pid": 12');
    lockFolder(data);
    expect(data.readJson("run.json")).toEqual(ownRun());
  });

  test("refuses a second start while the first runs", () =>
    other((pid) => {
      const data = folder();
      data.writeJson("run.json", { pid, began: beganAt(pid) });
      expect(() => lockFolder(data)).toThrow(`Another callagent (process ${pid})`);
    }));

  test("is not held by another program that was given the process id of a callagent that died", () =>
    other((pid) => {
      const data = folder();
      data.writeJson("run.json", { pid, began: "1" });
      lockFolder(data);
      expect(data.readJson("run.json")).toEqual(ownRun());
    }));

  test("is not held by a process that is gone", async () => {
    const data = folder();
    await other((pid) => data.writeJson("run.json", { pid, began: beganAt(pid) }));
    lockFolder(data);
    expect(data.readJson("run.json")).toEqual(ownRun());
  });
});
