import { execFileSync } from "node:child_process";
import { availableParallelism } from "node:os";

/** Keeps this process, and those it starts, away from a processor. False where the machine has no other, or no taskset. */
export function pinThisProcess(away: number): boolean {
  const others = Array.from({ length: availableParallelism() }, (_, n) => n).filter((n) => n !== away);
  if (others.length === 0) return false;
  try {
    execFileSync("taskset", ["-a", "-c", "-p", others.join(","), String(process.pid)], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}
