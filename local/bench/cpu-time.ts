import { readFileSync } from "node:fs";

/** A tick of /proc, microseconds. */
const TICK_US = 10_000;

/** Processor time of a process and of its children that have ended, microseconds; 0 where there is no /proc. On a busy machine it says more than a rate. */
export function processorOf(pid: number | undefined): number {
  try {
    const fields =
      readFileSync(`/proc/${pid ?? 0}/stat`, "utf8")
        .split(") ")[1]
        ?.split(" ") ?? [];
    return [11, 12, 13, 14].reduce((sum, i) => sum + Number(fields[i]), 0) * TICK_US;
  } catch {
    return 0;
  }
}

/** The same for this process. */
export function ownProcessor(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}

/** The same of a process with all that live below it, whose time counts as its own only once they have ended: PostgreSQL has one for each connection. */
export function processorOfTree(pid: number): number {
  let children: string[] = [];
  try {
    children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ").filter(Boolean);
  } catch {
    /* it has ended, or there is no /proc */
  }
  return children.reduce((sum, child) => sum + processorOfTree(Number(child)), processorOf(pid));
}
