import { numberIssue, toE164 } from "../../../shared/phone.ts";
import { command, UsageError, type Asked } from "../../../shared/process/command-line.ts";
import type { Rehearsal } from "./forecast.ts";

/** What was asked for. `calls_per_second`, `price_per_minute`, `url`, `token`: null where they were not given. */
export interface Wanted {
  template: string;
  rehearsal: Rehearsal;
  to: string | null;
  json: boolean;
  calls_per_second: number | null;
  price_per_minute: number | null;
  url: string | null;
  token: string | null;
}

/** `npm run rehearse`. */
export const REHEARSE = command({
  name: "rehearse",
  about:
    "Forecasts how the leads of a template would be called, by the scheduler's own rules over a clock that jumps. Nothing is dialled and nothing is written.",
  options: {
    template: { kind: "text", value: "id|name", needed: true, about: "the template whose leads are rehearsed" },
    leads: {
      kind: "number",
      value: "n",
      min: 1,
      max: 1_000_000,
      whole: true,
      needed: true,
      about: "how many leads, all pushed at one instant",
    },
    at: {
      kind: "text",
      value: "time",
      about: "when they are pushed, ISO 8601 with an offset: 2026-11-23T08:00:00+01:00; absent: now",
    },
    "answer-rate": {
      kind: "number",
      value: "0..1",
      min: 0,
      max: 1,
      default: 0.6,
      about: "part of the calls that somebody answers; the others ring until nobody answers",
    },
    "call-seconds": {
      kind: "number",
      value: "n",
      min: 1,
      max: 14_400,
      default: 60,
      about: "how long a conversation lasts",
    },
    "ring-seconds": {
      kind: "number",
      value: "n",
      min: 0,
      max: 600,
      default: 10,
      about: "how long it rings before somebody answers",
    },
    "ring-timeout": {
      kind: "number",
      value: "n",
      min: 5,
      max: 600,
      default: 40,
      about: "how long it rings when nobody does, RING_TIMEOUT_SECONDS of the deployment",
    },
    "calls-per-second": {
      kind: "number",
      value: "n",
      min: 0,
      max: 200,
      whole: true,
      about:
        "what the provider's account may place, PROVIDER_…_CALLS_PER_SECOND; 0: no limit; absent: asked of the deployment",
    },
    "price-per-minute": {
      kind: "number",
      value: "n",
      min: 0,
      max: 1000,
      about:
        "what a started minute costs in the deployment's currency, where a spend ceiling limits money; absent: ceilings in money are left out",
    },
    to: {
      kind: "text",
      value: "number",
      about:
        "a number like those that are called: its country matters where international calls are off, and its time zones where the callee's clock counts (respect_callee_timezone)",
    },
    seed: {
      kind: "number",
      value: "n",
      min: 0,
      max: 4_294_967_295,
      whole: true,
      default: 1,
      about: "of the drawn times and answers; the same seed gives the same forecast",
    },
    url: { kind: "text", value: "url", about: "a deployment's API; absent: the callagent that npm start runs here" },
    token: {
      kind: "text",
      value: "t",
      about: "a token of it, or CALLAGENT_TOKEN in the environment; absent: that of callagent login at this address",
    },
    json: { kind: "flag", about: "prints the forecast for machines" },
  },
});

/** Times differ from their means by at most this part of them. */
const SPREAD = 0.5;
const WITH_OFFSET = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?(?:Z|[+-]\d\d:\d\d)$/;
function instant(text: string | undefined, now: Date): Date {
  if (text === undefined) return now;
  const at = new Date(text);
  if (!WITH_OFFSET.test(text) || Number.isNaN(at.getTime()))
    throw new UsageError(
      `--at must be a time in ISO 8601 with its offset, such as 2026-11-23T08:00:00+01:00, not "${text}".`,
    );
  return at;
}

/** What was asked for. `token` stands in for --token. UsageError. */
export function rehearsalOf({ values: v }: Asked<typeof REHEARSE>, now: Date, token: string | undefined): Wanted {
  if (v.template.trim() === "") throw new UsageError("--template is empty.");
  if (v.url !== undefined && !/^https?:\/\//.test(v.url))
    throw new UsageError(
      `--url must be the API's address, such as https://calls.example.com/agent/voice/callagent, not "${v.url}".`,
    );
  const given = v.token ?? (token === "" ? undefined : token);
  if (v.url !== undefined && given === undefined)
    throw new UsageError("--url needs a token: callagent login there, --token, or CALLAGENT_TOKEN in the environment.");
  const to = v.to === undefined ? null : toE164(v.to);
  if (v.to !== undefined && to === null)
    throw new UsageError(`--to must be a phone number: "${v.to}" ${numberIssue(v.to) ?? ""}.`);
  return {
    template: v.template.trim(),
    to,
    json: v.json,
    url: v.url?.replace(/\/+$/, "") ?? null,
    token: given ?? null,
    calls_per_second: v["calls-per-second"] ?? null,
    price_per_minute: v["price-per-minute"] ?? null,
    rehearsal: {
      at: instant(v.at, now),
      leads: v.leads,
      seed: v.seed,
      spread: SPREAD,
      answer_rate: v["answer-rate"],
      call_seconds: v["call-seconds"],
      ring_seconds: v["ring-seconds"],
      ring_timeout_seconds: v["ring-timeout"],
    },
  };
}
