import { calculateObjectSize } from "bson";
import { PAYLOAD } from "../../fixtures/flow-template.ts";
import type { Platform } from "../actors/platform.ts";
import type { CostRun, Scene } from "./scene.ts";
import { addNumber } from "./steady-load.ts";

/** A statement for the database with its answer, or a message of the bus, which is a request, an answer or an event; when it was over, ms from the push. */
export interface Expense {
  at: number;
  kind: "statement" | "message";
  what: string;
  bytes: number;
}

/** All expenses of a run from the push on, and when the lead was handed to the dialer, ms from the push; null: it never was. */
export interface RoadNotes {
  expenses: Expense[];
  handed_over_at: number | null;
}

/** Limits of the template: a minute fits in, and a customer who thinks for some seconds is not asked again. */
export const ROAD_LIMITS = { max_call_seconds: 600, idle_seconds: 10 };
/** Processes start, clocks are read, caches fill. */
const SETTLE_MS = 30_000;
/** From the push until the lead is due, ms: what a push costs and what a claim costs lie apart. */
export const DUE_AFTER_MS = 20_000;
/** From the push on so much is looked at, ms: the longest call is over by then. */
const WATCHED_MS = 120_000;
const MAX_STEPS = 2_000_000;
const CALLEE = "+14155551000";
const PERSON = { after: 5000, talks: 600_000 };

const sizeOf = (value: object): number => calculateObjectSize(value, { ignoreUndefined: true });

/** Plays the road of one lead, or none, in calm weather, and notes what it costs. */
export async function playRoad(scene: Scene, platform: Platform, run: CostRun): Promise<RoadNotes> {
  const { stage, bus, carrier } = scene;
  const { world } = stage;
  const [tenant] = platform.tenants;
  if (!tenant) throw new Error("there is no tenant");
  const { id, reseller_id, merchant_id } = { ...tenant.template, ...tenant };
  const pushAt = world.now + SETTLE_MS;
  const notes: RoadNotes = { expenses: [], handed_over_at: null };
  const note = (kind: Expense["kind"], what: string, bytes: number): void => {
    const at = world.now - pushAt;
    if (at >= 0) notes.expenses.push({ at, kind, what, bytes });
  };
  scene.onStatement = (what, asked, answer) => note("statement", what, sizeOf(asked) + sizeOf({ answer }));
  bus.onMessage = (what, body) => {
    note("message", what, Buffer.byteLength(JSON.stringify(body) ?? ""));
    if (what === "dialer.dialMany") notes.handed_over_at ??= world.now - pushAt;
  };
  let asked = 0;
  scene.modelDecides = () => ++asked >= run.turns;
  carrier.person = { ...PERSON, what: run.person ?? "busy" };
  platform.configure(id, { initial_offset: DUE_AFTER_MS / 1000, max_retry: 0 });
  world.after(1, null, () => addNumber(scene, 1));
  if (run.person !== null)
    world.after(SETTLE_MS, platform.gateway.life, () => {
      const payload = { customer_mobile_number: CALLEE, ...PAYLOAD };
      const webhook = run.reports ? { reporting_webhook_url: "https://shop.example/leads" } : {};
      const lead = { request_id: "costs", template_id: id, reseller_id, merchant_id, payload, ...webhook };
      bus
        .face(platform.gateway.life)
        .call("leads.push", { by: tenant.by, lead })
        .catch((error: unknown) => stage.wrong.push(`the push failed: ${String(error)}`));
    });
  await world.run(() => world.now >= pushAt + WATCHED_MS, MAX_STEPS);
  return notes;
}
