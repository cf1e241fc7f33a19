import { loadavg } from "node:os";
import { median, quantile } from "../figures.ts";

/** One row of the table: what was measured, its spread, and what is asked of it. */
export interface Row {
  name: string;
  unit: string;
  values: number[];
  asked: string;
  met: boolean;
}

/** A row with more digits than are worth reading, as JSON takes it. */
export interface RowFacts {
  name: string;
  unit: string;
  n: number;
  p50: number;
  p95: number;
  p99: number;
  max: number;
  asked: string;
  met: boolean;
}

const tenths = (n: number): number => Math.round(n * 10) / 10;
const NAME_WIDTH = 58;

/** The spread of a row's values. */
export const factsOf = ({ name, unit, values, asked, met }: Row): RowFacts => ({
  name,
  unit,
  n: values.length,
  p50: tenths(median(values)),
  p95: tenths(quantile(values, 0.95)),
  p99: tenths(quantile(values, 0.99)),
  max: tenths(Math.max(...values, 0)),
  asked,
  met,
});

/** The row as people read it. */
export function lineOfRow(row: Row): string {
  const { name, unit, n, p50, p95, p99, max, asked, met } = factsOf(row);
  const numbers = `p50 ${p50.toFixed(1)}  p95 ${p95.toFixed(1)}  p99 ${p99.toFixed(1)}  max ${max.toFixed(1)} ${unit}  (n ${n})`;
  return `${name.padEnd(NAME_WIDTH)} ${numbers}${asked === "" ? "" : `  asked: ${asked}: ${met ? "met" : "MISSED"}`}`;
}

/** How busy the machine is: figures of a busy one are not the product's. */
export const busy = (): string =>
  `load ${loadavg()
    .map((n) => n.toFixed(1))
    .join(" ")}`;
