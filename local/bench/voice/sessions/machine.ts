import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { cpus } from "node:os";

const LISTENS = "0A";
const HEX = 16;
const PERCENT = 100;

const attempt = <T>(read: () => T, otherwise: T): T => {
  try {
    return read();
  } catch {
    return otherwise;
  }
};

/** The process of this machine that listens at a TCP address of its own; null: none that can be seen. */
export function listenerAt(url: string): number | null {
  const { hostname, port } = new URL(url);
  if (!["127.0.0.1", "localhost"].includes(hostname)) return null;
  const sockets = ["/proc/net/tcp", "/proc/net/tcp6"]
    .flatMap((path) => attempt(() => readFileSync(path, "utf8").split("\n").slice(1), []))
    .map((line) => line.trim().split(/\s+/))
    .filter(([, local = "", , state]) => state === LISTENS && parseInt(local.split(":")[1] ?? "", HEX) === Number(port))
    .map((fields) => `socket:[${fields[9] ?? ""}]`);
  const pids = attempt(() => readdirSync("/proc").filter((name) => /^\d+$/.test(name)), []);
  const found = pids.find((pid) =>
    attempt(() => readdirSync(`/proc/${pid}/fd`), []).some((fd) =>
      sockets.includes(attempt(() => readlinkSync(`/proc/${pid}/fd/${fd}`), "")),
    ),
  );
  return found === undefined ? null : Number(found);
}

/** Processor time of all processors so far, ms: that which was used, and all there was. */
function processors(): { used: number; all: number } {
  const times = cpus().map(({ times: { user, nice, sys, idle, irq } }) => ({ used: user + nice + sys + irq, idle }));
  const used = times.reduce((sum, each) => sum + each.used, 0);
  return { used, all: used + times.reduce((sum, { idle }) => sum + idle, 0) };
}

/** From now on: how much of all its processors the machine uses, percent. */
export function machineMeter(): () => number {
  const before = processors();
  return () => {
    const now = processors();
    return ((now.used - before.used) / Math.max(1, now.all - before.all)) * PERCENT;
  };
}
