import type { LeadDoc } from "../../../services/leads/leads.model.ts";
import type { Platform, Tenant } from "../actors/platform.ts";
import { calm } from "../checks/faults.ts";
import { PAYLOAD } from "../../fixtures/flow-template.ts";
import type { Load, Scene } from "./scene.ts";

/** What came of a steady load: dials within the windows that were watched, of so many that the limit allows, and releases of the lead that had most. */
export interface LoadFigures {
  dials: number;
  allowed: number;
  most_releases: number;
  releases: number;
  first_dial_ms: number;
}

const MS_PER_SECOND = 1000;
/** Numbers and lines enough that only the limit holds calls back. */
const LINES = 400;
/** More leads than the windows that are watched have room for, pushed while they are called. */
const SPARE = 1.5;
const PUSH_EVERY_MS = 40;
/** Before the first lead comes: processes start, clocks are read. */
const BEGIN_MS = 5000;
const MAX_STEPS = 6_000_000;

function prepare(scene: Scene, platform: Platform, tenant: Tenant, { limit }: Load): void {
  platform.configure(tenant.template.id, {
    initial_offset: 0,
    max_retry: 0,
    enforce_blacklist: false,
    rate_limit_enabled: true,
    rate_limit_max_calls: limit.max_calls,
    rate_limit_window_seconds: limit.window_seconds,
  });
  addNumber(scene, LINES);
}

/** Writes a number of the deployment into the database. */
export function addNumber(scene: Scene, lines: number): void {
  const now = new Date(scene.stage.world.now);
  scene.database.collections.get("numbers")?.insert({
    _id: "00000000-0000-4000-a000-000000000000",
    phone_number: "+14155550190",
    provider: "PROVIDER_ONE",
    status: "AVAILABLE",
    channel: "voice",
    max_concurrent_calls: lines,
    reseller_id: null,
    merchant_id: null,
    country: "US",
    slots: [],
    removed: null,
    used_at: new Date(0),
    created_at: now,
    updated_at: now,
  });
}

function pushLeads(scene: Scene, platform: Platform, tenant: Tenant, count: number): void {
  const { life } = platform.gateway;
  for (let i = 0; i < count; i++)
    scene.stage.world.after(BEGIN_MS + i * PUSH_EVERY_MS, life, () => {
      const lead = {
        request_id: `load-${i}`,
        template_id: tenant.template.id,
        reseller_id: tenant.reseller_id,
        merchant_id: tenant.merchant_id,
        execution_mode: "TELEPHONY",
        payload: { customer_mobile_number: `+1415555${1000 + i}`, ...PAYLOAD },
      };
      scene.bus
        .face(life)
        .call("leads.push", { by: tenant.by, lead })
        .catch(() => scene.stage.count("push failed"));
    });
}

/** Plays a steady load on one configuration's limit, in calm weather but for `crash`. */
export async function playLoad(scene: Scene, platform: Platform, load: Load): Promise<LoadFigures> {
  const { stage, carrier, database } = scene;
  const { world } = stage;
  const [tenant] = platform.tenants;
  if (!tenant) throw new Error("there is no tenant");
  const { max_calls, window_seconds } = load.limit;
  const allowed = max_calls * load.windows;
  world.after(1, null, () => prepare(scene, platform, tenant, load));
  stage.faults = { ...calm(), crash: load.crash };
  pushLeads(scene, platform, tenant, Math.ceil(allowed * SPARE) + 3);
  const spanMs = load.windows * window_seconds * MS_PER_SECOND;
  const patience = world.now + BEGIN_MS + 3 * spanMs;
  const firstAt = (): number | null => carrier.decisions[0]?.at ?? null;
  await world.run(() => world.now > Math.min(patience, (firstAt() ?? Infinity) + spanMs), MAX_STEPS);

  const first = firstAt() ?? Infinity;
  const released = database
    .docs<LeadDoc>("leads")
    .map((lead) => (lead.history ?? []).filter((h) => h.event === "given_back").length);
  return {
    dials: carrier.decisions.filter((d) => d.at < first + spanMs).length,
    allowed,
    most_releases: Math.max(0, ...released),
    releases: released.reduce((sum, n) => sum + n, 0),
    first_dial_ms: Math.round(first - (patience - 3 * spanMs)),
  };
}
