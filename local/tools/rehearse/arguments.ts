import { parseArgs } from "node:util";
import { toE164 } from "../../../shared/phone.ts";
import { CommandFault } from "../deployment.ts";
import type { Rehearsal } from "./forecast.ts";

/** A rehearsal that was asked for in a way that can't be. */
export class RehearsalFault extends CommandFault {}

/** What was asked for. `calls_per_second`, `price_per_minute`, `url`, `token`: null where they were not given. */
export interface Asked {
  template: string;
  rehearsal: Rehearsal;
  to: string | null;
  calls_per_second: number | null;
  price_per_minute: number | null;
  url: string | null;
  token: string | null;
}

/** What the command says of itself. */
export const USAGE = `npm run rehearse -- --template <id or name> --leads <n> [options]
Forecasts how the leads of a template would be called, by the scheduler's own rules over a clock that jumps. Nothing is dialled and nothing is written.

  --template <id|name>      the template whose leads are rehearsed
  --leads <n>               how many leads, all pushed at one instant (1 to 1000000)
  --at <time>               when they are pushed, ISO 8601 with an offset: 2026-11-23T08:00:00+01:00 (default: now)
  --answer-rate <0..1>      part of the calls that somebody answers (default 0.6); the others ring until nobody answers
  --call-seconds <n>        how long a talk lasts (default 60)
  --ring-seconds <n>        how long it rings before somebody answers (default 10)
  --ring-timeout <n>        how long it rings when nobody does, RING_TIMEOUT_SECONDS of the deployment (default 40)
  --calls-per-second <n>    what the provider's account may place, PROVIDER_…_CALLS_PER_SECOND; 0: no limit (default: asked of the deployment)
  --price-per-minute <n>    what a started minute costs in the deployment's currency, where a spend ceiling limits money (default: ceilings in money are left out)
  --to <number>             a number like those that are called: its country matters where international calls are off, and its time zones where the callee's clock counts (respect_callee_timezone)
  --seed <n>                of the drawn times and answers; the same seed gives the same forecast (default 1)
  --url <url>, --token <t>  a deployment and a token of it (or CALLAGENT_TOKEN in the environment); default: the callagent that npm start runs here`;

const OPTIONS = {
  template: { type: "string" },
  leads: { type: "string" },
  at: { type: "string" },
  "answer-rate": { type: "string" },
  "call-seconds": { type: "string" },
  "ring-seconds": { type: "string" },
  "ring-timeout": { type: "string" },
  "calls-per-second": { type: "string" },
  "price-per-minute": { type: "string" },
  to: { type: "string" },
  seed: { type: "string" },
  url: { type: "string" },
  token: { type: "string" },
  help: { type: "boolean", default: false },
} as const;

/** Times differ from their means by at most this part of them. */
const SPREAD = 0.5;
const WITH_OFFSET = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?(?:Z|[+-]\d\d:\d\d)$/;
const DECIMAL = /^\d+(?:\.\d+)?$/;

function parsed(argv: readonly string[]) {
  try {
    return parseArgs({ args: [...argv], options: OPTIONS }).values;
  } catch (error) {
    throw new RehearsalFault(
      `${error instanceof Error ? error.message.split(". ")[0] : String(error)}. See npm run rehearse -- --help.`,
    );
  }
}

function numberOf(
  name: string,
  text: string | undefined,
  fallback: number,
  [least, most]: readonly [number, number],
  whole: boolean,
): number {
  if (text === undefined) return fallback;
  const value = Number(text);
  if (!DECIMAL.test(text) || value < least || value > most || (whole && !Number.isInteger(value))) {
    throw new RehearsalFault(
      `--${name} must be a ${whole ? "whole number" : "number"} from ${least} to ${most}, not "${text}".`,
    );
  }
  return value;
}

function instant(text: string | undefined, now: Date): Date {
  if (text === undefined) return now;
  const at = new Date(text);
  if (!WITH_OFFSET.test(text) || Number.isNaN(at.getTime()))
    throw new RehearsalFault(
      `--at must be a time in ISO 8601 with its offset, such as 2026-11-23T08:00:00+01:00, not "${text}".`,
    );
  return at;
}

function needed(name: string, value: string | undefined): string {
  if (value === undefined || value.trim() === "")
    throw new RehearsalFault(`--${name} is missing. See npm run rehearse -- --help.`);
  return value.trim();
}

/** The command line; null: help was asked for. `token` stands in for --token. RehearsalFault. */
export function readArguments(argv: readonly string[], now: Date, token: string | undefined): Asked | null {
  const v = parsed(argv);
  if (v.help) return null;
  const template = needed("template", v.template);
  const leads = numberOf("leads", needed("leads", v.leads), 0, [1, 1_000_000], true);
  if (v.url !== undefined && !/^https?:\/\//.test(v.url))
    throw new RehearsalFault(
      `--url must be the API's address, such as https://calls.example.com/agent/voice/callagent, not "${v.url}".`,
    );
  const given = v.token ?? (token === "" ? undefined : token);
  if (v.url !== undefined && given === undefined)
    throw new RehearsalFault(
      "--url needs a token: --token, or CALLAGENT_TOKEN in the environment (POST /s2s-token makes one).",
    );
  const to = v.to === undefined ? null : toE164(v.to);
  if (v.to !== undefined && to === null)
    throw new RehearsalFault(`--to must be a phone number in E.164, such as +14155550123, not "${v.to}".`);
  return {
    template,
    to,
    url: v.url?.replace(/\/+$/, "") ?? null,
    token: given ?? null,
    calls_per_second:
      v["calls-per-second"] === undefined
        ? null
        : numberOf("calls-per-second", v["calls-per-second"], 0, [0, 200], true),
    price_per_minute:
      v["price-per-minute"] === undefined
        ? null
        : numberOf("price-per-minute", v["price-per-minute"], 0, [0, 1000], false),
    rehearsal: {
      at: instant(v.at, now),
      leads,
      seed: numberOf("seed", v.seed, 1, [0, 4_294_967_295], true),
      spread: SPREAD,
      answer_rate: numberOf("answer-rate", v["answer-rate"], 0.6, [0, 1], false),
      call_seconds: numberOf("call-seconds", v["call-seconds"], 60, [1, 14_400], false),
      ring_seconds: numberOf("ring-seconds", v["ring-seconds"], 10, [0, 600], false),
      ring_timeout_seconds: numberOf("ring-timeout", v["ring-timeout"], 40, [5, 600], false),
    },
  };
}
