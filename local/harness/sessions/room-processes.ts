import { execFileSync } from "node:child_process";

/** The processes of LiveKit rooms below a process; absent: below this one. */
export function roomProcesses(top: number = process.pid): number[] {
  const lines = execFileSync("ps", ["-eo", "pid,ppid,args"], { encoding: "utf8" }).split("\n");
  const all = lines.map((line) => /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(line)).filter((m) => m !== null);
  const isBelow = (pid: number): boolean => {
    if (pid === top) return true;
    const parent = Number(all.find(([, p]) => Number(p) === pid)?.[2] ?? 0);
    return parent > 1 && isBelow(parent);
  };
  return all
    .filter(([, pid, , args]) => args?.includes("room-program.ts") && isBelow(Number(pid)))
    .map(([, p]) => Number(p));
}
