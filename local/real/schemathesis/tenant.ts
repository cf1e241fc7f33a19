import { PartError } from "../part.ts";
import { login, type Client } from "../../tools/api-client.ts";

/** What one tenant of a fuzzed product has: a thing of every kind, and a few to lose. */
export interface Tenant {
  reseller_id: string;
  merchant_id: string;
  template_id: string;
  config_id: string;
  number_id: string;
  lead_id: string;
  request_id: string;
  /** Bearer tokens by role. */
  tokens: Record<Role, string>;
  /** Ids that keep the tokens valid: the users that they are of, and the tenant's own. */
  kept: string[];
  /** Ids to lose, by the path that they are put into. */
  spares: Record<string, string[]>;
}

/** Who a fuzzer asks as. */
export type Role = "admin" | "reseller" | "merchant" | "user" | "s2s";

const PASSWORD = "a long password of a test";
const SPARES = 3;
const FLOW = {
  initial_node: "bye",
  nodes: [{ name: "bye", say: "Goodbye.", on_enter: [{ type: "end_call" }] }],
  payload_schema: { type: "object", properties: { customer_mobile_number: { type: "string" } } },
} as const;
const WINDOW = { initial_offset: 0, retry_offset: 900, call_start_time: "00:00", call_end_time: "00:00", max_retry: 0 };

type Scope = Pick<Tenant, "reseller_id" | "merchant_id">;
const idOf = ({ id }: { id: string }): string => id;
const times = <T>(make: (n: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: SPARES }, (_, n) => make(n)));

/** Makes what a tenant has beside its people; `count` tells its numbers from others'. */
async function things(admin: Client, scope: Scope, count: number, sink: string) {
  const number = (n: number) => {
    const phone_number = `+1415556${String(count * 10 + n).padStart(4, "0")}`;
    const settings = { provider: "PROVIDER_ONE", status: "AVAILABLE", channel: "voice", ...scope } as const;
    return admin.ask("POST", "/numbers", { body: { ...settings, phone_number, max_concurrent_calls: 5 } });
  };
  const flow = () => admin.ask("POST", "/templates", { body: { ...scope, ...FLOW, name: "flow", is_active: true } });
  const plan = (template_id: string) =>
    admin.ask("POST", "/configurations", { body: { template_id, ...WINDOW, calling_provider: "PROVIDER_ONE" } });
  const template_id = idOf(await flow());
  const config_id = idOf(await plan(template_id));
  const own = await number(SPARES);
  const push = (n: number) =>
    admin.ask("POST", "/leads", {
      body: {
        ...scope,
        request_id: `order-${count}-${n}`,
        template_id,
        reporting_webhook_url: sink,
        payload: { customer_mobile_number: "+14155550123" },
      },
    });
  const lead = await push(0);
  const spareFlows = await times(flow);
  const spares = {
    "/templates/{id}": spareFlows.map(idOf),
    "/configurations/{config_id}": (await Promise.all(spareFlows.map((f) => plan(f.id)))).map(idOf),
    "/numbers/{number_id}": (await times(number)).map(idOf),
  };
  return {
    template_id,
    config_id,
    number_id: own.id,
    lead_id: lead.lead_call_tracker_id,
    request_id: `order-${count}-0`,
    spares,
  };
}

/** Makes a tenant with people of every role through the REST API. */
export async function makeTenant(baseUrl: string, admin: Client, count: number, sink: string): Promise<Tenant> {
  const name = `Fuzzed ${count}`;
  const contact_email = `calls-${count}@fuzzed.example`;
  const reseller_id = idOf(await admin.ask("POST", "/resellers", { body: { name } }));
  const merchant_id = idOf(await admin.ask("POST", "/merchants", { body: { name, reseller_id, contact_email } }));
  const scope = { reseller_id, merchant_id };
  const ofRole = { admin: {}, reseller: { reseller_id }, merchant: scope, user: scope };
  const create = (role: keyof typeof ofRole, email: string) =>
    admin.ask("POST", "/users", { body: { email, password: PASSWORD, role, ...ofRole[role] } });
  const person = async (role: keyof typeof ofRole): Promise<[string, string]> => {
    const { id, email } = await create(role, `${role}-${count}@fuzzed.example`);
    return [id, await login(baseUrl, email, PASSWORD)];
  };
  const [root, reseller, merchant, user] = [
    await person("admin"),
    await person("reseller"),
    await person("merchant"),
    await person("user"),
  ];
  const issue = (n: number) =>
    admin.ask("POST", "/s2s-token", { body: { name: `token ${n}`, role: "merchant", ...scope } });
  const s2s = await issue(SPARES);
  const own = (await admin.ask("GET", "/s2s-tokens", { query: { limit: 1 } })).s2s_tokens.map(idOf);
  await times(issue);
  const { s2s_tokens } = await admin.ask("GET", "/s2s-tokens", { query: { limit: SPARES } });
  const { spares, ...made } = await things(admin, scope, count, sink);
  const others = await times((n) =>
    admin.ask("POST", "/merchants", { body: { name: `${name} ${n}`, reseller_id, contact_email } }),
  );
  const users = await times((n) => create("user", `spare-${count}-${n}@fuzzed.example`));
  await admin.ask("POST", "/blacklist", { body: { phone_numbers: [`+1415557${String(count).padStart(4, "0")}`] } });
  const secret = { path: { name: "CRM_TOKEN" }, body: { ...scope, value: "Bearer of nothing" } };
  await admin.ask("PUT", "/secrets/{name}", secret);
  return {
    ...scope,
    ...made,
    tokens: { admin: root[1], reseller: reseller[1], merchant: merchant[1], user: user[1], s2s: s2s.token },
    kept: [reseller_id, merchant_id, root[0], reseller[0], merchant[0], user[0], ...own],
    spares: {
      ...spares,
      "/merchants/{id}": others.map(idOf),
      "/users/{id}": users.map(idOf),
      "/s2s-tokens/{id}": s2s_tokens.map(idOf).filter((id) => !own.includes(id)),
    },
  };
}

/** Everything of a tenant that its own reseller can read, by path, as the bytes that were answered. */
export async function readTenant(baseUrl: string, tenant: Tenant): Promise<Record<string, string>> {
  const { reseller_id, lead_id } = tenant;
  const lists = ["templates", "configurations", "leads", "numbers", "blacklist", "users", "merchants", "deliveries"];
  const more = ["secrets", "doors", "audit", "s2s-tokens", "inbound-calls"];
  const records = [`resellers/${reseller_id}`, `leads/${lead_id}`, `leads/${lead_id}/timeline`];
  const read = async (path: string): Promise<[string, string]> => {
    const answer = await fetch(`${baseUrl}/${path}`, {
      headers: { authorization: `Bearer ${tenant.tokens.reseller}` },
    });
    const said = await answer.text();
    if (!answer.ok)
      throw new PartError(`GET /${path} of the tenant that is compared answers ${answer.status}: ${said}`);
    return [path, said];
  };
  const paths = [...[...lists, ...more].map((list) => `${list}?limit=500`), ...records];
  return Object.fromEntries(await Promise.all(paths.map(read)));
}
