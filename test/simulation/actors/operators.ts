import type { Stage } from "../engine/process.ts";
import type { Platform, Tenant } from "./platform.ts";
import type { SimBus } from "../engine/bus.ts";
import type { Scene } from "../engine/scene.ts";

/** What the clients of a run have done, as the invariants count it. */
export interface Deeds {
  /** Leads whose push was answered 201. */
  accepted: { id: string; tenant: Tenant; url: string | null; phone: string }[];
  /** When an abort was answered `success`, by lead. */
  aborted: Map<string, number>;
}

const KEYED_TRIES = 4;
const KEY_PAUSE_MS = 3000;
const PLAYGROUND = 0.15;
const CLOSING_EVERY_MS = 20_000;

const formats = new Map<string, Intl.DateTimeFormat>();
/** HH:MM in a zone. */
function timeOfDay(timeZone: string): Intl.DateTimeFormat {
  const made =
    formats.get(timeZone) ?? new Intl.DateTimeFormat("en-GB", { timeZone, hour: "2-digit", minute: "2-digit" });
  formats.set(timeZone, made);
  return made;
}

/** Clients and operators at random instants: pushes, aborts, blacklisting, edits of windows and switches, pauses, numbers switched off. */
export class Operators {
  readonly deeds: Deeds = { accepted: [], aborted: new Map() };
  readonly #scene: Scene;
  readonly #stage: Stage;
  readonly #bus: SimBus;
  readonly #platform: Platform;

  constructor(scene: Scene, platform: Platform) {
    this.#scene = scene;
    this.#stage = scene.stage;
    this.#bus = scene.bus;
    this.#platform = platform;
  }

  #at(ms: number, act: () => void): void {
    this.#stage.world.after(ms, this.#platform.gateway.life, act);
  }

  /** Plans everything that happens until `untilMs`. */
  plan(untilMs: number): void {
    const { random } = this.#stage.world;
    this.#stage.world.after(100, null, () => this.#numbers());
    const some = (most: number, act: () => void, from = 1000): void => {
      for (let i = 0, n = random.whole(0, most); i < n; i++) this.#at(random.between(from, untilMs), act);
    };
    const tenant = (): Tenant => random.pick(this.#platform.tenants);
    for (let i = 0, n = random.whole(2, 7); i < n; i++)
      this.#at(random.between(200, Math.min(30_000, untilMs)), () => {
        void this.#push(tenant(), `req-${i}`);
      });
    some(4, () => {
      void this.#abort();
    });
    this.#interfere(untilMs);
    some(2, () => this.#platform.list(this.#phone()));
    some(3, () => this.#editWindow(tenant()));
    some(2, () => this.#platform.edit(tenant().template.id, { enable_calling: random.chance(0.5) }));
    some(2, () => this.#platform.switch(random.chance(0.3) ? "" : tenant().merchant_id, random.chance(0.5)));
    some(1, () => this.#disableNumber());
    some(2, () => this.#stage.terminate(random.pick(this.#scene.processes)));
    if (random.chance(0.3)) this.#at(0, () => this.#editWindow(tenant()));
    if (random.chance(0.2)) this.#closingTime(untilMs);
  }

  #phone(): string {
    return `+141555501${String(this.#stage.world.random.whole(10, 18))}`;
  }

  #numbers(): void {
    const { random } = this.#stage.world;
    const now = new Date(this.#stage.world.now);
    const numbers = this.#scene.database.collections.get("numbers");
    for (let i = 0, n = random.whole(1, 3); i < n; i++) {
      const owner = random.chance(0.5) ? null : random.pick(this.#platform.tenants).reseller_id;
      numbers?.insert({
        _id: `00000000-0000-4000-a000-00000000000${i}`,
        phone_number: `+1415555019${i}`,
        provider: "PROVIDER_ONE",
        status: "AVAILABLE",
        channel: "voice",
        max_concurrent_calls: random.whole(1, 2),
        reseller_id: i === 0 ? null : owner,
        merchant_id: null,
        country: "US",
        slots: [],
        removed: null,
        used_at: new Date(0),
        created_at: now,
        updated_at: now,
      });
    }
  }

  #disableNumber(): void {
    const numbers = this.#scene.database.collections.get("numbers");
    const { random } = this.#stage.world;
    numbers?.change(
      { _id: random.pick([...numbers.docs.keys()]) },
      { $set: { status: random.chance(0.6) ? "DISABLED" : "AVAILABLE" } },
    );
    this.#stage.world.tell("operator", "switches a number");
  }

  /** A window around now that closes in some minutes, or one that is shut. */
  #editWindow(tenant: Tenant, minutes?: readonly [number, number]): void {
    const { random, now } = this.#stage.world;
    const { timezone } = this.#platform.configuration(tenant.template.id);
    const local = (ms: number): string => timeOfDay(timezone).format(ms);
    const [from, to] =
      minutes ??
      random.pick([
        [-60, 1],
        [-60, 2],
        [-60, 3],
        [1, 60],
        [2, 3],
        [-2, 2],
        [0, 0],
      ] as const);
    this.#platform.edit(tenant.template.id, {
      call_start_time: local(now + from * 60_000),
      call_end_time: local(now + to * 60_000),
    });
  }

  /** Windows that close again and again while phones are about to ring: the carrier keeps calls waiting, and they are answered too late. */
  #closingTime(untilMs: number): void {
    this.#at(2000, () => {
      this.#stage.faults.carrierQueues = 0.6;
    });
    for (let ms = 1000; ms < untilMs; ms += CLOSING_EVERY_MS)
      this.#at(ms, () => {
        for (const tenant of this.#platform.tenants) this.#editWindow(tenant, [-60, 1]);
      });
  }

  async #push(tenant: Tenant, request_id: string): Promise<void> {
    const { random } = this.#stage.world;
    const phone = this.#phone();
    const url = random.chance(0.8) ? "http://receiver.test/reports" : null;
    const key = random.chance(0.5) ? { idempotency_key: `key-${request_id}` } : {};
    const lead = {
      request_id,
      template_id: tenant.template.id,
      reseller_id: tenant.reseller_id,
      merchant_id: tenant.merchant_id,
      execution_mode: "TELEPHONY",
      payload: {
        customer_mobile_number: phone,
        customer: "Ada",
        order: "A-17",
        shop: "Northwind",
        desk: "+14155550100",
      },
      ...(url ? { reporting_webhook_url: url } : {}),
      // a lead with a configuration of its own has a queue of its own
      ...(random.chance(PLAYGROUND) ? { is_playground: true, configurations_override: { retry_offset: 2 } } : {}),
    };
    for (let i = 0; i < ("idempotency_key" in key ? KEYED_TRIES : 1); i++) {
      try {
        const answer = (await this.#bus
          .face(this.#platform.gateway.life)
          .call("leads.push", { by: tenant.by, lead, ...key })) as { lead_call_tracker_id: string };
        this.deeds.accepted.push({ id: answer.lead_call_tracker_id, tenant, url, phone });
        this.#stage.count("lead accepted");
        this.#stage.world.tell("client", `lead ${answer.lead_call_tracker_id} accepted, ${phone}`);
        return;
      } catch (error) {
        this.#stage.count(`push failed: ${(error as { type?: string }).type ?? String(error)}`);
        await new Promise<void>((resolve) => this.#at(KEY_PAUSE_MS, resolve));
      }
    }
  }

  /** Now and then a lead is aborted, or its number listed, at the very moment at which it is claimed. */
  #interfere(untilMs: number): void {
    const { world } = this.#stage;
    const { random } = world;
    const often = random.chance(0.5) ? random.between(0, 0.3) : 0;
    this.#bus.onSent = (name, params) => {
      if (name !== "leads.claimMany" || world.elapsed > untilMs || !random.chance(often)) return;
      const { lead_id } = random.pick((params as { items: { lead_id: string }[] }).items);
      const known = this.deeds.accepted.find((a) => a.id === lead_id);
      if (!known) return;
      if (random.chance(0.8))
        this.#at(random.between(0, 4), () => {
          void this.#abort(known);
        });
      else this.#at(random.between(0, 4), () => this.#platform.list(known.phone));
    };
  }

  async #abort(of?: Deeds["accepted"][number]): Promise<void> {
    const { accepted, aborted } = this.deeds;
    if (accepted.length === 0) return;
    const { id, tenant } = of ?? this.#stage.world.random.pick(accepted);
    try {
      const answer = (await this.#bus.face(this.#platform.gateway.life).call("leads.abort", {
        by: tenant.by,
        leads: [{ lead_id: id, cancellation_reason: "changed their mind" }],
      })) as { leads: { status: string }[] };
      const status = answer.leads[0]?.status ?? "none";
      this.#stage.count(`abort ${status}`);
      this.#stage.world.tell("client", `abort of ${id}: ${status}`);
      if (status === "success" && !aborted.has(id)) aborted.set(id, this.#stage.world.now);
    } catch {
      this.#stage.count("abort without answer");
    }
  }

  /** Everything on again: the weather is fine. */
  allOn(): void {
    for (const { template, merchant_id } of this.#platform.tenants) {
      this.#platform.edit(template.id, { enable_calling: true, call_start_time: "00:00", call_end_time: "00:00" });
      this.#platform.switch(merchant_id, false);
    }
    this.#platform.switch("", false);
    this.#scene.database.collections.get("numbers")?.changeAll({ removed: null }, { $set: { status: "AVAILABLE" } });
  }
}
