import type { Hook } from "../http/callback-sender.ts";

/** Answering machine detection as asked for. `hook` null: the document waits for the verdict. */
export interface AmdParams {
  hangUp: boolean;
  hook: Hook | null;
  timeMs: number;
}

/** The parameters of a new call, checked. Numbers are E.164. https://www.plivo.com/docs/voice/api/call/make-a-call */
export interface CallParams {
  to: string;
  from: string;
  answer: Hook;
  ring: Hook | null;
  /** Receives the end of the call; absent: the answer URL receives it. */
  hangup: Hook;
  ringTimeoutSeconds: number;
  timeLimitSeconds: number;
  amd: AmdParams | null;
}

/** A parameter Plivo refuses with HTTP 400. */
export class ParamError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "ParamError";
  }
}

/** The fields of a JSON request. */
export type Fields = Record<string, unknown>;

const NUMBER = /^\+?([1-9]\d{6,14})$/;

/** A whole number within bounds; throws ParamError. */
export function integer(fields: Fields, name: string, byDefault: number, least: number, most: number): number {
  const value = fields[name];
  if (value === undefined || value === null) return byDefault;
  const n = typeof value === "number" ? value : Number(value);
  if (!Number.isSafeInteger(n) || n < least || n > most)
    throw new ParamError(`${name} should be an integer between ${least} and ${most}`);
  return n;
}

/** A text; throws ParamError where it is missing. */
export function text(fields: Fields, name: string): string {
  const value = fields[name];
  if (typeof value !== "string" || value === "") throw new ParamError(`${name} parameter is required`);
  return value;
}

/** An address with its method; null when it is absent. Throws ParamError. */
export function hook(fields: Fields, name: string): Hook | null {
  if (fields[name] === undefined || fields[name] === null || fields[name] === "") return null;
  const url = text(fields, name);
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    throw new ParamError(`${name} is not a valid url`);
  const method = String(fields[name.replace(/_url$/, "_method")] ?? "POST").toUpperCase();
  if (method !== "GET" && method !== "POST")
    throw new ParamError(`${name.replace(/_url$/, "_method")} should be GET or POST`);
  return { url, method };
}

function amd(fields: Fields): AmdParams | null {
  const asked = fields["machine_detection"];
  if (asked === undefined || asked === null || asked === "" || asked === "false") return null;
  if (asked !== "true" && asked !== true && asked !== "hangup")
    throw new ParamError("machine_detection should be true or hangup");
  return {
    hangUp: asked === "hangup",
    hook: hook(fields, "machine_detection_url"),
    timeMs: integer(fields, "machine_detection_time", 5_000, 2_000, 10_000),
  };
}

/** Checks the parameters of a new call as Plivo does. Throws ParamError. `owned`: numbers the account may call from, null for any. */
export function readCallParams(
  fields: Fields,
  owned: ReadonlySet<string> | null,
  refused: (to: string) => boolean,
): CallParams {
  const [, from] = NUMBER.exec(text(fields, "from")) ?? [];
  if (from === undefined || (owned && !owned.has(`+${from}`)))
    throw new ParamError("from is not a valid phone number of this account");
  const [, to] = NUMBER.exec(text(fields, "to")) ?? [];
  if (to === undefined || refused(to)) throw new ParamError("to is not a valid phone number");
  const answer = hook(fields, "answer_url");
  if (!answer) throw new ParamError("answer_url parameter is required");
  return {
    to: `+${to}`,
    from: `+${from}`,
    answer,
    ring: hook(fields, "ring_url"),
    hangup: hook(fields, "hangup_url") ?? answer,
    ringTimeoutSeconds: integer(fields, "ring_timeout", 120, 1, 600),
    timeLimitSeconds: integer(fields, "time_limit", 14_400, 1, 86_400),
    amd: amd(fields),
  };
}
