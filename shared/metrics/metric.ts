import type { ServiceName } from "../contracts/index.ts";

/** What a metric counts or measures. */
const UNITS = [
  "seconds",
  "bytes",
  "events",
  "requests",
  "reads",
  "leads",
  "records",
  "queues",
  "calls",
  "permits",
  "slots",
  "tries",
] as const;

/** One metric: what it is, who writes it, and every value that its labels may have. */
export interface Metric {
  kind: "counter" | "gauge" | "histogram";
  unit: (typeof UNITS)[number];
  /** One sentence, shown to whoever looks at the metric. */
  about: string;
  /** The processes that write it: those of these services, or every one. */
  by: "every" | readonly ServiceName[];
  /** Every value that a label may have; another one is counted as `other`. So the series of a process have a bound, and no tenant or phone number is one. */
  labels: Readonly<Record<string, readonly string[]>>;
  /** Upper bounds of a histogram, in its unit. */
  buckets?: readonly number[];
}
