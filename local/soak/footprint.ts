import { readdirSync, readFileSync } from "node:fs";
import type { Product } from "../harness/product.ts";

/** How big a process was at an instant. */
export interface Footprint {
  child: string;
  pid: number;
  atMs: number;
  rssMb: number;
  handles: number;
}

/** How a process grew: megabytes and handles an hour, by least squares, and where it stands. */
export interface Growth {
  child: string;
  rssMb: number;
  mbPerHour: number;
  handles: number;
  handlesPerHour: number;
}

const HOUR_MS = 3_600_000;
const KB_PER_MB = 1024;
const FEWEST_SAMPLES = 5;

/** Memory and open handles of every service process, as the kernel counts them; none where there is no /proc. */
export function footprints(product: Product): Footprint[] {
  return product.stack.serviceChildren.flatMap((name) => {
    const pid = product.stack.children.get(name)?.pid();
    if (pid === undefined) return [];
    try {
      const [, kb = "0"] = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
      return [
        {
          child: name,
          pid,
          atMs: performance.now(),
          rssMb: Number(kb) / KB_PER_MB,
          handles: readdirSync(`/proc/${pid}/fd`).length,
        },
      ];
    } catch {
      return [];
    } // it has just ended
  });
}

function slope(points: readonly { x: number; y: number }[]): number {
  const mean = (of: (p: { x: number; y: number }) => number): number =>
    points.reduce((sum, p) => sum + of(p), 0) / points.length;
  const [x, y] = [mean((p) => p.x), mean((p) => p.y)];
  const spread = points.reduce((sum, p) => sum + (p.x - x) ** 2, 0);
  return spread === 0 ? 0 : points.reduce((sum, p) => sum + (p.x - x) * (p.y - y), 0) / spread;
}

/** The growth of each process that lived through enough samples. */
export function growths(samples: readonly Footprint[]): Growth[] {
  return [...Map.groupBy(samples, (s) => `${s.child} ${s.pid}`).values()].flatMap((of) => {
    const last = of.at(-1);
    if (!last || of.length < FEWEST_SAMPLES) return [];
    return [
      {
        child: last.child,
        rssMb: last.rssMb,
        handles: last.handles,
        mbPerHour: slope(of.map((s) => ({ x: s.atMs, y: s.rssMb }))) * HOUR_MS,
        handlesPerHour: slope(of.map((s) => ({ x: s.atMs, y: s.handles }))) * HOUR_MS,
      },
    ];
  });
}
