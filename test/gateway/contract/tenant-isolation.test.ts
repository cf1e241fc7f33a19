import { randomUUID } from "node:crypto";
import blacklist from "../../../services/blacklist/blacklist.service.ts";
import config from "../../../services/config/config.service.ts";
import { ROUTES } from "../../../services/gateway/routes/index.ts";
import { pathNames, type Row } from "../../../services/gateway/routes/row.ts";
import leads from "../../../services/leads/leads.service.ts";
import numbers from "../../../services/numbers/numbers.service.ts";
import webhook from "../../../services/webhook/webhook.service.ts";
import { asAdmin } from "../../../local/harness/stage.ts";
import { setHttpStage, type Answer, type HttpStage } from "../fixtures/http-stage.ts";

/** Every endpoint with tenant A's tokens on tenant B's ids, generated from the table: a new row is tried without a change here, or fails until its ids are known. */
let http: HttpStage;
const b = {
  reseller: "",
  merchant: "",
  template: "",
  configuration: "",
  door: "",
  erasure: "",
  hold: "",
  endpoint: "",
  number: "",
  lead: "",
  user: "",
  token: "",
  request: `order-${randomUUID()}`,
  phone: "+14155550987",
  listed: "+14155550654",
  secret: "CRM_OF_TENANT_B",
};
const ROLES = ["reseller", "merchant", "user"] as const;

const flow = (reseller_id: string, merchant_id: string) => ({
  reseller_id,
  merchant_id,
  name: `flow-${randomUUID()}`,
  initial_node: "hello",
  variables: ["customer_name"],
  nodes: [
    {
      name: "hello",
      prompt: "Greet {{customer_name}}.",
      functions: [{ name: "confirm", description: "It suits.", outcome: "confirmed", action: "end_call" }],
    },
  ],
});
const window = {
  initial_offset: 86_400,
  retry_offset: 60,
  call_start_time: "00:00",
  call_end_time: "00:00",
  max_retry: 1,
  calling_provider: "PROVIDER_ONE",
};

async function made(path: string, body: object): Promise<string> {
  const answer = await http.ask("POST", path, { body });
  if (answer.status >= 300) throw new Error(`POST ${path} answered ${answer.status}: ${answer.text}`);
  return String(answer.body["id"] ?? answer.body["lead_call_tracker_id"]);
}

beforeAll(async () => {
  http = await setHttpStage([blacklist, config, leads, numbers, webhook]);
  b.reseller = await made("/resellers", { name: "Tenant B" });
  b.merchant = await made("/merchants", { name: "Shop B", reseller_id: b.reseller, contact_email: "b@example.com" });
  b.template = await made("/templates", flow(b.reseller, b.merchant));
  b.configuration = await made("/configurations", { template_id: b.template, ...window });
  b.number = await made("/numbers", {
    phone_number: b.phone,
    provider: "PROVIDER_ONE",
    status: "AVAILABLE",
    channel: "voice",
    reseller_id: b.reseller,
  });
  b.lead = await made("/leads", {
    request_id: b.request,
    template_id: b.template,
    reseller_id: b.reseller,
    merchant_id: b.merchant,
    payload: { customer_name: "Bea", customer_mobile_number: "+14155550321" },
  });
  b.user = await made("/users", {
    email: "bea@example.com",
    password: "a long password of Bea",
    role: "merchant",
    reseller_id: b.reseller,
    merchant_id: b.merchant,
  });
  b.erasure = await made("/erasures", { phone_number: "+14155550188", reseller_id: b.reseller });
  b.hold = await made("/legal-holds", { reseller_id: b.reseller, reason: "a case" });
  b.door = await made("/doors", { template_id: b.template, origins: ["https://shop-b.example"] });
  const owner = { reseller_id: b.reseller, merchant_id: b.merchant };
  b.endpoint = await made("/webhook-endpoints", { ...owner, url: "https://b.example/", types: ["lead.finished"] });
  await http.ask("PUT", `/secrets/${b.secret}`, { body: { ...owner, value: "a credential of B" } });
  const issued = await http.stage.bus.call("auth.issueS2s", {
    by: asAdmin,
    name: "B's backend",
    role: "reseller",
    reseller_id: b.reseller,
  });
  const { body } = await http.ask("GET", "/s2s-tokens?limit=500");
  b.token = String((body["s2s_tokens"] as { id: string; name: string }[]).find((t) => t.name === "B's backend")?.id);
  await http.ask("POST", "/blacklist", { body: { phone_numbers: [b.listed] }, token: issued.token });
});
afterAll(async () => {
  await http.stop();
});

/** B's thing behind a path, and the address at which an admin reads it. */
function foreign(path: string): { id: string; read: string | null } {
  const [, kind = ""] = path.split("/");
  const of: Record<string, { id: string; read: string | null }> = {
    numbers: { id: b.number, read: `/numbers/${b.number}` },
    merchants: { id: b.merchant, read: `/merchants/${b.merchant}` },
    resellers: { id: b.reseller, read: `/resellers/${b.reseller}` },
    templates: { id: b.template, read: `/templates/${b.template}` },
    erasures: { id: b.erasure, read: `/erasures/${b.erasure}` },
    "legal-holds": { id: b.hold, read: `/legal-holds/${b.hold}` },
    doors: { id: b.door, read: "/doors?limit=500" },
    "webhook-endpoints": { id: b.endpoint, read: `/webhook-endpoints/${b.endpoint}` },
    configurations: { id: b.configuration, read: `/configurations/${b.configuration}` },
    leads: {
      id: path.includes("{request_id}")
        ? b.request
        : path.includes("{call_sid}")
          ? "CA00000000000000000000000000000000"
          : b.lead,
      read: `/leads/${b.lead}`,
    },
    users: { id: b.user, read: `/users/${b.user}` },
    "s2s-tokens": { id: b.token, read: null },
  };
  const known = of[kind];
  if (!known) throw new Error(`${path} is new: tell this test which of tenant B's ids belongs into it`);
  return known;
}

const BODIES: Record<string, object> = {
  numbers: { channel: "sms" },
  merchants: { name: "Taken over" },
  resellers: { name: "Taken over" },
  templates: { name: "taken over" },
  configurations: { max_retry: 3 },
  users: { is_active: false },
  "webhook-endpoints": { paused: true },
  leads: { text: "hello" },
};
const at = (path: string, id: string): string => path.replace(/\{[a-z_]+\}/, id);
const bodyFor = (row: Row): { body?: object } =>
  row.body === undefined
    ? {}
    : { body: row.path.endsWith("/pause") ? { reason: "taken over" } : (BODIES[row.path.split("/")[1] ?? ""] ?? {}) };
const unknownId = (path: string): string =>
  path.includes("{request_id}")
    ? "order-nobody-has"
    : path.includes("{call_sid}")
      ? "CA11111111111111111111111111111111"
      : randomUUID();

/** Named by its owner beside the path: what is not its asker's is refused without a look. */
const NAMED_BY_OWNER = ["/secrets/{name}"];
const withPath = ROUTES.filter((row) => !NAMED_BY_OWNER.includes(row.path)).filter(
  (row) => pathNames(row.path).length > 0 && row.roles !== "public",
);
const cases = withPath.flatMap((row) =>
  ROLES.filter((role) => row.roles.includes(role)).map((role) => [`${row.method} ${row.path}`, role, row] as const),
);

describe("resources of another tenant", () => {
  test.each(cases)("%s as another tenant's %s", async (_name, role, row) => {
    const { id, read } = foreign(row.path);
    const before = read ? (await http.ask("GET", read)).text : null;
    const answer = await http.ask(row.method, at(row.path, id), { token: http.tokens[role], ...bodyFor(row) });
    const unknown = at(row.path, unknownId(row.path));
    const nobodys = await http.ask(row.method, unknown, { token: http.tokens[role], ...bodyFor(row) });
    const bytes = ({ text, body }: Answer): string => text.replace(String(body["request_id"]), "");
    expect([answer.status, bytes(answer)]).toEqual([404, bytes(nobodys)]);
    if (read) expect((await http.ask("GET", read)).text).toBe(before);
  });
});

test.each(["reseller", "merchant"] as const)(
  "another tenant's secret is refused to a %s as one that nobody has, and stays",
  async (role) => {
    const owner = { reseller_id: b.reseller, merchant_id: b.merchant };
    const token = http.tokens[role];
    const read = `/secrets?name=${b.secret}`;
    const before = (await http.ask("GET", read)).text;
    expect(before).toContain(b.secret);
    for (const name of [b.secret, "NOBODYS"]) {
      const put = await http.ask("PUT", `/secrets/${name}`, { token, body: { ...owner, value: "mine" } });
      const drop = await http.ask("DELETE", `/secrets/${name}?${new URLSearchParams(owner)}`, { token });
      expect([put.status, drop.status]).toEqual([403, 403]);
    }
    expect((await http.ask("GET", read)).text).toBe(before);
  },
);

describe("lists hold nothing of another tenant", () => {
  const lists = ROUTES.filter((row) => row.method === "GET" && pathNames(row.path).length === 0);
  test.each(
    lists.flatMap((row) =>
      ROLES.filter((role) => row.roles.includes(role)).map((role) => [row.path, role, row] as const),
    ),
  )("%s as %s, with and without B's ids in the query", async (path, role, row) => {
    const secretsOfB = [...Object.values(b), "https://shop-b.example", "bea@example.com", "Shop B", "Tenant B"];
    const wants = new Set(row.query ?? []);
    const ids: [string, string][] = [
      ["reseller_id", b.reseller],
      ["merchant_id", b.merchant],
      ["template_id", b.template],
    ];
    const probe = new URLSearchParams(ids.filter(([name]) => wants.has(name)));
    for (const query of ["", `?${probe.toString()}`]) {
      const { text } = await http.ask("GET", `${path}${query}`, { token: http.tokens[role] });
      expect(secretsOfB.filter((s) => text.includes(s))).toEqual([]);
    }
  });
});

describe("writing into another tenant's scope", () => {
  const writes: [string, () => object][] = [
    ["/merchants", () => ({ name: "Mole", reseller_id: b.reseller, contact_email: "m@example.com" })],
    ["/templates", () => flow(b.reseller, b.merchant)],
    ["/configurations", () => ({ template_id: b.template, ...window })],
    [
      "/webhook-endpoints",
      () => ({ reseller_id: b.reseller, merchant_id: b.merchant, url: "https://a.example/", types: ["lead.finished"] }),
    ],
    ["/doors", () => ({ template_id: b.template, origins: ["https://a.example"] })],
    [
      "/numbers",
      () => ({
        phone_number: "+14155550111",
        provider: "PROVIDER_ONE",
        status: "AVAILABLE",
        channel: "voice",
        reseller_id: b.reseller,
      }),
    ],
    ["/s2s-token", () => ({ name: "mole", role: "merchant", reseller_id: b.reseller, merchant_id: b.merchant })],
    [
      "/users",
      () => ({
        email: "mole@example.com",
        password: "a long mole password",
        role: "merchant",
        reseller_id: b.reseller,
        merchant_id: b.merchant,
      }),
    ],
    [
      "/leads",
      () => ({
        request_id: "mole",
        template_id: b.template,
        reseller_id: b.reseller,
        merchant_id: b.merchant,
        payload: { customer_name: "M", customer_mobile_number: "+14155550112" },
      }),
    ],
  ];
  test.each(writes.flatMap(([path, body]) => ROLES.map((role) => [path, role, body] as const)))(
    "POST %s as %s",
    async (path, role, body) => {
      const answer = await http.ask("POST", path, { token: http.tokens[role], body: body() });
      expect([403, 404]).toContain(answer.status);
    },
  );
  test("nothing was written there", async () => {
    const lists = ["merchants", "templates", "numbers", "users", "s2s-tokens", "leads"];
    const everything = await Promise.all(lists.map(async (list) => (await http.ask("GET", `/${list}?limit=500`)).text));
    for (const text of everything) expect(text).not.toMatch(/mole/i);
  });
  test("an abort of another tenant's lead reads like one of an unknown lead, and changes nothing", async () => {
    const abort = async (lead_id: string) =>
      (
        (
          await http.ask("POST", "/lead/abort", {
            token: http.tokens.reseller,
            body: { leads: [{ lead_id, cancellation_reason: "x" }] },
          })
        ).body["leads"] as { status: string; message: string }[]
      )[0];
    const [theirs, nobodys] = [await abort(b.lead), await abort(randomUUID())];
    expect({ status: theirs?.status, message: theirs?.message }).toEqual({
      status: nobodys?.status,
      message: nobodys?.message,
    });
    expect((await http.ask("GET", `/leads/${b.lead}`)).body["status"]).toBe("BACKLOG");
  });
});
