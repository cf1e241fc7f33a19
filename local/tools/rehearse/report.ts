import { DateTime } from "luxon";
import { callingClocks } from "../../../shared/time/calling-clocks.ts";
import type { ConfigurationRecord } from "../../../shared/contracts/records/configuration.ts";
import type { SpendCeiling } from "../../../shared/contracts/records/spend.ts";
import type { GateName } from "../../../shared/contracts/records/explanation.ts";
import type { Forecast, Rehearsal, World } from "./forecast.ts";

/** A rehearsal with all that belongs to its report. */
export interface Reported {
  name: string;
  /** What is wrong with the template. */
  warnings?: readonly { path: string; message: string }[];
  world: World;
  rehearsal: Rehearsal;
  forecast: Forecast;
}

const BAR = 40;
/** More rows than this are drawn by the day. */
const MAX_ROWS = 72;

const WHY: Partial<Record<GateName, string>> = {
  callee_capped: "the merchant's cap on calls per callee",
  due: "their own offsets: initial_offset and retry_offset",
  deployment: "the deployment is paused",
  merchant: "the merchant is paused",
  template_active: "the template is switched off",
  configuration: "the template has no configuration",
  calling_enabled: "calling is switched off",
  window: "the calling window was closed",
  line: "every line was taken",
  spend_ceiling: "a spend ceiling",
  rate_limit: "the configuration's rate limit",
  carrier_limit: "the calls per second of the provider's account",
};

const DAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
/** The window in words: its hours, and its days where some are shut. */
function windowSaid(c: ConfigurationRecord, callee_zones: readonly string[]): string {
  const { weekdays = [], holidays = [] } = c;
  const hours = c.call_start_time === c.call_end_time ? "all day" : `${c.call_start_time}-${c.call_end_time}`;
  const some = weekdays.length > 0 && weekdays.length < DAYS.length;
  const days = some ? ` ${weekdays.map((day) => DAYS[day - 1]).join(" ")}` : "";
  const zone = hours === "all day" && !some && holidays.length === 0 ? "" : ` ${c.timezone}`;
  const callees = callingClocks(c, callee_zones)
    .slice(1)
    .map(({ window }) => window.zone);
  const also = callees.length === 0 || zone === "" ? "" : `, and on the callee's clock (${callees.slice(0, 3).join(", ")}${callees.length > 3 ? ` and ${callees.length - 3} more` : ""})`; // prettier-ignore
  return `${hours}${days}${zone}${also}${holidays.length > 0 ? ` without ${plural(holidays.length, "holiday")}` : ""}`;
}

const count = (n: number): string => n.toLocaleString("en-US");
const plural = (n: number, noun: string, many = `${noun}s`): string => `${count(n)} ${n === 1 ? noun : many}`;
const hours = (n: number): string => n.toLocaleString("en-US", { minimumFractionDigits: 1, maximumFractionDigits: 1 });
const zoneOf = ({ plan }: World): string => plan.configuration?.timezone ?? "UTC";
const local = (at: Date | number, zone: string): DateTime =>
  DateTime.fromMillis(typeof at === "number" ? at : at.getTime(), { zone, locale: "en" });
const shown = (at: Date, zone: string): string => local(at, zone).toFormat("ccc yyyy-LL-dd HH:mm");

function lasting(ms: number): string {
  const minutes = Math.max(1, Math.round(ms / 60_000));
  const parts: [number, string][] = [
    [Math.floor(minutes / 1440), "d"],
    [Math.floor(minutes / 60) % 24, "h"],
    [minutes % 60, "min"],
  ];
  return parts
    .filter(([n]) => n > 0)
    .map(([n, unit]) => `${n} ${unit}`)
    .join(" ");
}

/** Dials by the local hour, or day where there are many hours, as a chart; gaps are marked. */
function chart({ by_quarter }: Forecast, zone: string): string[] {
  const by = (unit: "hour" | "day"): Map<number, number> => {
    const rows = new Map<number, number>();
    for (const [at, n] of by_quarter) {
      const start = local(at, zone).startOf(unit).toMillis();
      rows.set(start, (rows.get(start) ?? 0) + n);
    }
    return rows;
  };
  const hourly = by("hour");
  const unit = hourly.size > MAX_ROWS ? "day" : "hour";
  const rows = [...(unit === "hour" ? hourly : by("day"))].sort(([a], [b]) => a - b);
  const most = Math.max(...rows.map(([, n]) => n));
  const lines = rows.flatMap(([at, n], i) => {
    const before = rows[i - 1]?.[0];
    const gap =
      before !== undefined &&
      local(before, zone)
        .plus({ [unit]: 1 })
        .toMillis() < at
        ? ["  …"]
        : [];
    return [
      ...gap,
      `  ${local(at, zone).toFormat(unit === "hour" ? "ccc LL-dd HH:mm" : "ccc yyyy-LL-dd")}  ${"█".repeat(Math.max(1, Math.round((n / most) * BAR))).padEnd(BAR)} ${count(n).padStart(7)}`,
    ];
  });
  return rows.length === 0 ? [] : ["", `Dials per ${unit} (${zone})`, ...lines];
}

function waits({ waited: by }: Forecast): string[] {
  const rows = [...by].filter(([, h]) => h >= 0.05).sort((a, b) => b[1] - a[1]);
  return rows.length === 0
    ? []
    : [
        "",
        "What leads waited for (hours of all leads together)",
        ...rows.map(([gate, h]) => `  ${gate.padEnd(16)} ${hours(h).padStart(12)}   ${WHY[gate] ?? ""}`.trimEnd()),
      ];
}

const capOf = ({ callee_cap }: World): string => {
  const { per_day, per_week } = callee_cap ?? {};
  const parts = [
    ...(per_day === undefined ? [] : [`${count(per_day)} in 24 hours`]),
    ...(per_week === undefined ? [] : [`${count(per_week)} in 7 days`]),
  ];
  return parts.length === 0 ? "" : ` · calls per callee: ${parts.join(", ")}`;
};

const periodSaid = (of: SpendCeiling["per_day"], per: string): string[] => {
  const { calls, minutes, money } = of ?? {};
  const parts = [
    ...(calls === undefined ? [] : [plural(calls, "call")]),
    ...(minutes === undefined ? [] : [plural(minutes, "minute")]),
    ...(money === undefined ? [] : [`${count(money)} of money`]),
  ];
  return parts.length === 0 ? [] : [`${parts.join(", ")} ${per}`];
};

/** The spend ceilings, one a line, and what is not rehearsed of them. */
function spendSaid({ spend }: World): string[] {
  if (!spend) return [];
  const owners = [
    ["merchant", spend.ceilings.merchant],
    ["reseller", spend.ceilings.reseller],
  ] as const;
  const lines = owners.flatMap(([whose, of]) =>
    of
      ? [
          `  spend ceiling of the ${whose}: ${[...periodSaid(of.per_day, "a day"), ...periodSaid(of.per_month, "a month")].join("; ")} (UTC); nothing of it is taken before`,
        ]
      : [],
  );
  const money = owners.some(([, of]) => of?.per_day?.money !== undefined || of?.per_month?.money !== undefined);
  return money && spend.price === null
    ? [...lines, "  what is limited in money is left out: --price-per-minute says what a minute costs"]
    : lines;
}

function conditions({ world, rehearsal: r }: Reported): string[] {
  const c = world.plan.configuration;
  const slots = world.slots.home ?? world.slots;
  const window = c ? windowSaid(c, world.callee_zones ?? []) : "no configuration";
  const rate =
    c?.rate_limit_enabled && c.rate_limit_max_calls !== null
      ? `${plural(c.rate_limit_max_calls, "call")} in ${c.rate_limit_window_seconds} s`
      : "no rate limit";
  const account =
    world.calls_per_second === 0
      ? "no limit of calls per second"
      : `${plural(world.calls_per_second, "call")} per second`;
  return [
    `  window ${window} · ${rate} · ${account} · ${plural(slots.free_lines, "line")} of ${plural(slots.numbers, "number")}${c ? ` · ${plural(c.max_retry, "retry", "retries")} after ${c.retry_offset} s` : ""}${capOf(world)}`,
    `  assumed: ${Math.round(r.answer_rate * 100)} % answer after ${r.ring_seconds} s and talk for ${r.call_seconds} s (each ± ${Math.round(r.spread * 100)} %), the others ring for ${r.ring_timeout_seconds} s; nobody else uses the lines${world.callee_cap ? ", and each lead is another person" : ""}`,
    ...spendSaid(world),
  ];
}

/** The report of a rehearsal for people, line by line. */
export function report(all: Reported): string[] {
  const { name, world, rehearsal: r, forecast: f } = all;
  const zone = zoneOf(world);
  const others = [...f.ended].sort((a, b) => b[1] - a[1]).map(([outcome, n]) => `${outcome} ${count(n)}`);
  const expired = f.ended.get("EXPIRED") ?? 0;
  return [
    `Rehearsal of ${plural(r.leads, "lead")} of "${name}", pushed ${shown(r.at, zone)} (${zone})`,
    ...conditions(all),
    ...(all.warnings ?? []).map(({ path, message }) => `  warning: ${path} ${message}`),
    "",
    ...(f.stuck ? [`Held by ${f.stuck.gate}: ${f.stuck.detail}`] : []),
    `${expired > 0 ? "The last lead is finished" : "All leads are finished"} ${shown(f.finish_at, zone)}, ${lasting(f.finish_at.getTime() - r.at.getTime())} after the push.`,
    `  dials ${count(f.dials)} · reached ${count(f.reached)}${others.length > 0 ? ` · ${others.join(" · ")}` : ""} · lines in use at most ${count(f.peak_slots)} of ${count(f.slots)}`,
    ...(expired > 0
      ? [
          `  ${plural(expired, "lead")} would expire: not called to an end within the template's max_age_seconds of ${count(world.plan.max_age_seconds)}.`,
        ]
      : []),
    ...chart(f, zone),
    ...waits(f),
  ];
}
