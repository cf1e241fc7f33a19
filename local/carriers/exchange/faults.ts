/** The faults that can be asked for. Those of a request or call default to `times: 1`, those of callbacks to "until deleted". */
export const FAULT_KINDS = [
  "drop_reply",
  "hang_reply",
  "error_after_placing",
  "rate_limit",
  "lose_callbacks",
  "duplicate_callbacks",
  "delay_callbacks",
  "forge_callbacks",
  "queue_delay",
  "drop_socket",
  "hang_socket",
  "shuffle_media",
  "refuse_connections",
  "refuse_credentials",
] as const;

/** One kind of fault. */
export type FaultKind = (typeof FAULT_KINDS)[number];

/** A fault as asked for. `hang_socket`: a stream's socket is opened so much later; `shuffle_media`: its frames come out of order, some twice, where the carrier may. `to` matches the end of the called number; `seconds` are real seconds, for the service lives in real time. `refuse_connections`
 *  closes the carrier's door at once and for all: nobody gets through, not even to these pages, until the seconds are over. `refuse_credentials`: Twilio's API
 *  answers 401 to so many requests, whatever number they are about, as after a token was changed. */
export interface Fault {
  id: number;
  kind: FaultKind;
  to: string | null;
  /** Uses left; null: until deleted. */
  times: number | null;
  seconds: number;
}

/** The faults under way. */
export interface Faults {
  /** Adds a fault; a string is what is wrong with the request. */
  add(asked: unknown): Fault | string;
  list(): Fault[];
  clear(): void;
  /** Uses up one matching fault; null when there is none. */
  take(kind: FaultKind, to: string): Fault | null;
}

const DEFAULT_SECONDS: Record<FaultKind, number> = {
  drop_reply: 0,
  hang_reply: 30,
  error_after_placing: 0,
  rate_limit: 1,
  lose_callbacks: 0,
  duplicate_callbacks: 0,
  delay_callbacks: 2,
  forge_callbacks: 0,
  queue_delay: 5,
  drop_socket: 0.5,
  hang_socket: 12,
  shuffle_media: 0,
  refuse_connections: 2,
  refuse_credentials: 0,
};
const MAX_SECONDS = 3_600;
const MAX_FAULTS = 1_000;

const isKind = (value: unknown): value is FaultKind => FAULT_KINDS.some((kind) => kind === value);
const digits = (number: string): string => number.replace(/\D/g, "");

/** No faults at first. */
export function createFaults(): Faults {
  let faults: Fault[] = [];
  let lastId = 0;
  return {
    add(asked) {
      if (typeof asked !== "object" || asked === null)
        return 'the body must be a JSON object like {"kind":"drop_reply"}';
      const { kind, to, times, seconds } = asked as Record<string, unknown>;
      if (!isKind(kind)) return `kind must be one of ${FAULT_KINDS.join(", ")}`;
      if (to !== undefined && (typeof to !== "string" || digits(to) === ""))
        return 'to must be the end of a phone number, like "01" or "+15550001"';
      if (times !== undefined && (!Number.isSafeInteger(times) || Number(times) < 1))
        return "times must be a whole number from 1";
      if (seconds !== undefined && (typeof seconds !== "number" || !(seconds >= 0 && seconds <= MAX_SECONDS)))
        return `seconds must be a number from 0 to ${MAX_SECONDS}`;
      if (faults.length >= MAX_FAULTS) return `at most ${MAX_FAULTS} faults at a time: DELETE /faults first`;
      lastId += 1;
      const fault: Fault = {
        id: lastId,
        kind,
        to: to === undefined ? null : digits(to),
        times: times === undefined ? (kind.endsWith("_callbacks") ? null : 1) : Number(times),
        seconds: seconds ?? DEFAULT_SECONDS[kind],
      };
      faults.push(fault);
      return fault;
    },
    list: () => faults.map((fault) => ({ ...fault })),
    clear() {
      faults = [];
    },
    take(kind, to) {
      const fault = faults.find((f) => f.kind === kind && (f.to === null || digits(to).endsWith(f.to)));
      if (!fault) return null;
      if (fault.times !== null) {
        fault.times -= 1;
        if (fault.times === 0) faults = faults.filter((f) => f !== fault);
      }
      return { ...fault };
    },
  };
}
