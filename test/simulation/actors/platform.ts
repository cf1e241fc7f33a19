import type { By } from "../../../shared/contracts/records/identity.ts";
import type { ConfigurationRecord } from "../../../shared/contracts/records/configuration.ts";
import { DO_NOT_CALL } from "../../../shared/contracts/records/attempt.ts";
import type { CalleeCap } from "../../../shared/contracts/merchants.ts";
import { policiesOf, type PlatformHow, type Policies } from "./tenant-policies.ts";
import type { SpendCeiling } from "../../../shared/contracts/records/spend.ts";
import type { Plan } from "../../../shared/contracts/config.ts";
import type { TemplateRecord } from "../../../shared/contracts/records/template.ts";
import { told, ZONES, zoned } from "./callee-clock.ts";
import { flowTemplate } from "../../fixtures/flow-template.ts";
import type { SimBus } from "../engine/bus.ts";
import { Process, simulatedIds, type Stage } from "../engine/process.ts";

/** A customer of the deployment with one template. */
export interface Tenant {
  reseller_id: string;
  merchant_id: string;
  template: TemplateRecord;
  by: By;
}

/** What a switch or a configuration said from an instant on. */
export interface Said<T> {
  at: number;
  said: T;
}

const MAX_AGE_SECONDS = 86_400;
/** Limits of templates, so that little virtual time shows much. */
const SHORT = { max_call_seconds: 20, idle_seconds: 4, max_age_seconds: MAX_AGE_SECONDS };

/** What these parts may be asked with. */
interface Asked {
  pushes: { template_id: string }[];
  pairs: { phone_number: string; merchant_id?: string | null }[];
  merchant_id: string;
  phone_number: string;
  merchant_ids: string[];
  reseller_ids: string[];
  template_ids: string[];
  template_id: string;
  override: object;
}
/** What the talks of a run's first and second tenant decide. The second's template is one from before words of ours were refused. */
const DECISIONS = ["confirmed", "busy"] as const;
/** A short talk: a question, one decision. Its function takes no arguments, so that no schema is compiled in every run. */
const nodes = (outcome: string): TemplateRecord["nodes"] => [
  {
    name: "ask",
    role_prompt: "You are Mia of {{shop}}.",
    prompt: "Ask {{customer}} whether they confirm order {{order}}.",
    functions: [{ name: "confirm", description: "They confirm.", next_node: "confirmed", outcome }],
  },
  {
    name: "confirmed",
    say: "Thank you, {{customer}}. Goodbye!",
    on_enter: [{ type: "end_call" }],
    interruptible: false,
  },
];

/** The word that conversations of a template decide. */
export const decisionOf = (
  { tenants }: Pick<Platform, "tenants">,
  template_id: string | undefined,
): string | undefined => tenants.find((t) => t.template.id === template_id)?.template.nodes[0]?.functions?.[0]?.outcome;

type Answers = Record<string, (params: Asked) => unknown>;

/** What the blacklist says: of listed numbers, and of what callees asked of merchants, unless it forgets that. */
function blacklistAnswers(listed: ReadonlyMap<string, number>, keepsWishes: boolean): Answers {
  const wishes = new Set<string>();
  return {
    check: ({ pairs }) => ({
      listed: pairs.map((p) => listed.has(p.phone_number) || wishes.has(`${p.merchant_id} ${p.phone_number}`)),
    }),
    recordWish: ({ merchant_id, phone_number }) => {
      if (keepsWishes) wishes.add(`${merchant_id} ${phone_number}`);
      return { added: true };
    },
  };
}

/** The parts of the deployment that are not under test: configurations, the blacklist, merchants, the audit log. They never fail, but what they say changes. */
export class Platform implements Policies {
  /** The cap on calls per callee of every merchant. */
  readonly cap: CalleeCap | null;
  /** The spend ceiling of every merchant, and of every reseller. */
  readonly ceiling: SpendCeiling | null;
  readonly tenants: Tenant[] = [];
  /** By template: what its configuration was, newest last. */
  readonly configurations = new Map<string, Said<ConfigurationRecord>[]>();
  /** By merchant, and "" for the deployment: paused or not, newest last. */
  readonly paused = new Map<string, Said<boolean>[]>();
  /** When a number was listed. */
  readonly listed = new Map<string, number>();
  /** Whether every conversation ends with its callee's wish not to be called again. */
  readonly #wishful: boolean;
  readonly gateway: Process;
  readonly #stage: Stage;
  readonly #bus: SimBus;
  readonly #config: Process;

  constructor(stage: Stage, bus: SimBus, { cap, ceiling, wishes, two, limits }: PlatformHow = {}) {
    this.#stage = stage;
    this.cap = cap ?? null;
    this.ceiling = ceiling ?? null;
    this.#wishful = wishes !== undefined;
    this.#bus = bus;
    this.gateway = this.#part("gateway", {});
    this.#config = this.#part("config", this.#configAnswers());
    this.#part("blacklist", blacklistAnswers(this.listed, wishes !== "forgotten"));
    const pauses = (asked: Asked) => policiesOf(this, asked, stage.world.now);
    this.#part("merchants", { pauses, lookup: () => ({ reseller: true, merchant: true }) });
    this.#part("auth", { record: () => ({}) });
    const { random } = stage.world;
    const drawn = random.whole(1, 2);
    for (let i = 0, n = two ? 2 : drawn; i < n; i++) this.#addTenant(i, { ...SHORT, ...limits });
  }
  #part(service: string, answers: Answers): Process {
    const process = new Process(this.#stage, service, service, false);
    const life = process.begin();
    const act = (action: string, params: unknown): Promise<unknown> => {
      const answer = answers[action];
      if (!answer) return Promise.reject(new Error(`the simulated ${service} service does not answer ${action}`));
      try {
        return Promise.resolve(answer(params as Asked));
      } catch (error) {
        return Promise.reject(error as Error);
      }
    };
    this.#bus.join(process, { life, act, events: {} });
    return process;
  }

  #addTenant(i: number, limits: typeof SHORT): void {
    const { random } = this.#stage.world;
    const ids = simulatedIds(this.#stage.world);
    const reseller_id = ids.uuid();
    const merchant_id = ids.uuid();
    const retry_on = random.chance(0.75)
      ? null
      : ["no_answer", "busy", "failed", "voicemail", "PLACEMENT_UNKNOWN", "customer_hangup"];
    const template = flowTemplate({
      id: ids.uuid(),
      reseller_id,
      merchant_id,
      retry_on,
      nodes: nodes(this.#wishful ? DO_NOT_CALL : (DECISIONS[i] ?? DECISIONS[0])),
      initial_node: "ask",
      global_functions: [],
      limits,
    });
    this.tenants.push({
      reseller_id,
      merchant_id,
      template,
      by: { kind: "s2s", id: `token${i}`, role: "reseller", reseller_id, merchant_id: null },
    });
    const limited = random.chance(0.5);
    this.configurations.set(template.id, [
      {
        at: this.#stage.world.now,
        said: {
          id: ids.uuid(),
          reseller_id,
          merchant_id,
          template_id: template.id,
          template: template.name,
          initial_offset: random.pick([0, 0, 3, 20]),
          retry_offset: random.pick([1, 5, 20, 45]),
          call_start_time: "00:00",
          call_end_time: "00:00",
          ...zoned(random.pick(ZONES), i === 1, this.#stage.world.now),
          max_retry: random.whole(0, 3),
          calling_provider: "PROVIDER_ONE",
          enable_calling: true,
          enable_international_call: true,
          enable_inbound: false,
          inbound_call_start_time: null,
          inbound_call_end_time: null,
          inbound_call_timezone: null,
          inbound_block_action: "REJECT",
          inbound_redirect_number: null,
          inbound_block_message: null,
          inbound_webhook_url: null,
          inbound_max_calls_per_caller: 10,
          inbound_caller_window_seconds: 3600,
          record_calls: true,
          voicemail_action: "hangup",
          engine: null,
          enforce_blacklist: true,
          rate_limit_enabled: limited,
          rate_limit_max_calls: limited ? random.whole(1, 3) : null,
          rate_limit_window_seconds: random.pick([2, 5, 20]),
          rate_limit_whitelist: [],
          pre_checks: [],
          transfer_numbers: ["+14155550100"],
          created_at: "2026-01-01T00:00:00.000Z",
          updated_at: "2026-01-01T00:00:00.000Z",
        },
      },
    ]);
  }

  /** The template's configuration is this, and always was. */
  configure(template_id: string, change: Partial<ConfigurationRecord>): void {
    const said = { ...this.configuration(template_id), ...change };
    this.configurations.set(template_id, [{ at: this.#stage.world.now, said }]);
  }

  configuration(template_id: string): ConfigurationRecord {
    const now = this.configurations.get(template_id)?.at(-1)?.said;
    if (!now) throw new Error("no such template in this simulation");
    return now;
  }

  /** Edits a configuration; a hint goes over the bus, which may be lost. */
  edit(template_id: string, change: Partial<ConfigurationRecord>): void {
    this.configurations
      .get(template_id)
      ?.push({ at: this.#stage.world.now, said: { ...this.configuration(template_id), ...change } });
    this.#stage.world.tell("operator", `edits ${template_id.slice(0, 8)} ${JSON.stringify(change)}`);
    void this.#bus.face(this.#config.life).broadcast("config.changed", { template_id });
  }

  /** Pauses or resumes a merchant, or ("") the deployment. */
  switch(merchant_id: string, paused: boolean): void {
    const of = this.paused.get(merchant_id) ?? [];
    this.paused.set(merchant_id, [...of, { at: this.#stage.world.now, said: paused }]);
    this.#stage.world.tell(
      "operator",
      `${paused ? "pauses" : "resumes"} ${merchant_id === "" ? "the deployment" : merchant_id.slice(0, 8)}`,
    );
    void this.#bus
      .face(this.#config.life)
      .broadcast("calling.switched", { merchant_id: merchant_id === "" ? null : merchant_id });
  }

  list(phone_number: string): void {
    if (!this.listed.has(phone_number)) this.listed.set(phone_number, this.#stage.world.now);
    this.#stage.world.tell("operator", `lists ${phone_number}`);
  }

  #configAnswers(): Answers {
    const tenantOf = (template_id: string): Tenant => {
      const tenant = this.tenants.find((t) => t.template.id === template_id);
      if (!tenant) throw new Error("no such template in this simulation");
      return tenant;
    };
    return {
      plans: ({ template_ids }) => ({
        plans: template_ids.map((id): Plan => {
          const { template } = tenantOf(id);
          return {
            template_id: id,
            version: 1,
            is_active: true,
            max_age_seconds: MAX_AGE_SECONDS,
            max_call_seconds: template.limits.max_call_seconds,
            retry_on: template.retry_on,
            configuration: told(this.configuration(id)),
          };
        }),
      }),
      overridden: ({ template_id, override }) => ({
        configuration: { ...this.configuration(template_id), ...override },
      }),
      templateVersion: ({ template_id }) => tenantOf(template_id).template,
      resolveManyForPush: ({ pushes }) => ({
        results: pushes.map(({ template_id }) => {
          const { template, reseller_id, merchant_id } = tenantOf(template_id);
          const { initial_offset } = this.configuration(template_id);
          const { name } = template;
          const max_age_seconds = MAX_AGE_SECONDS;
          return {
            resolved: { template_id, version: 1, name, reseller_id, merchant_id, initial_offset, max_age_seconds },
            refusal: null,
          };
        }),
      }),
    };
  }
}
