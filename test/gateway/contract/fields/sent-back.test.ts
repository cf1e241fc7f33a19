import config from "../../../../services/config/config.service.ts";
import numbers from "../../../../services/numbers/numbers.service.ts";
import webhook from "../../../../services/webhook/webhook.service.ts";
import { READ_ONLY } from "../../../../services/gateway/api/record-fields.ts";
import { bodySchemaOf } from "../../../../services/gateway/docs/row-schemas.ts";
import { propertiesOf } from "../../../../services/gateway/api/action-schema.ts";
import { ROUTES } from "../../../../services/gateway/routes/index.ts";
import { createdId, reminderTemplate, setHttpStage, type HttpStage } from "../../fixtures/http-stage.ts";

/** What GET shows, sent back: by PUT it changes nothing, by POST it makes the same again. */
let http: HttpStage;
beforeAll(async () => {
  http = await setHttpStage(
    [config, numbers, webhook],
    {},
    { WEBHOOK_ALLOW_HTTP: "true", WEBHOOK_ALLOW_PRIVATE: "true" },
  );
  http.script["leads.eventsAfter"] = () => ({ events: [], next_after: null, end: 0 });
});
afterAll(() => http.stop());

type Record_ = Record<string, unknown>;
const WINDOW = {
  initial_offset: 0,
  retry_offset: 60,
  call_start_time: "09:00",
  call_end_time: "18:00",
  max_retry: 1,
  calling_provider: "PROVIDER_ONE",
};
/** What changes by itself. */
const OWN = ["id", "version", "created_at", "updated_at"];
const without = (record: Record_, names: readonly string[]): Record_ =>
  Object.fromEntries(Object.entries(record).filter(([name]) => !names.includes(name)));

function taken(method: "POST" | "PUT", path: string): string[] {
  const row = ROUTES.find((one) => one.method === method && one.path === path);
  return Object.keys(propertiesOf((row && bodySchemaOf(row)) ?? {}));
}
const only = (record: Record_, names: readonly string[]): Record_ =>
  Object.fromEntries(Object.entries(record).filter(([name]) => names.includes(name)));

const template = (): Promise<string> =>
  createdId(http, "/templates", reminderTemplate({ reseller_id: http.reseller_id }, { name: "flow" }));

/** Path, its parameter, how one is made, and what another one must have of its own. */
const KINDS: [string, string, () => Promise<string>, () => Promise<Record_>][] = [
  ["/templates", "id", template, async () => ({})],
  [
    "/configurations",
    "config_id",
    async () => createdId(http, "/configurations", { ...WINDOW, template_id: await template() }),
    async () => ({ template_id: await template() }),
  ],
  ["/resellers", "id", () => createdId(http, "/resellers", { name: "Acme" }), async () => ({})],
  [
    "/merchants",
    "id",
    () =>
      createdId(http, "/merchants", { name: "Shop", reseller_id: http.reseller_id, contact_email: "a@example.com" }),
    async () => ({}),
  ],
  [
    "/users",
    "id",
    () => createdId(http, "/users", { email: "one@example.com", password: "a long first password", role: "admin" }),
    async () => ({ email: "two@example.com", password: "a long first password" }),
  ],
  [
    "/numbers",
    "number_id",
    () => createdId(http, "/numbers", { phone_number: "+14155550111", provider: "PROVIDER_ONE" }),
    async () => ({ phone_number: "+14155550112" }),
  ],
];

describe.each(KINDS)("%s", (path, parameter, make, another) => {
  test("a record that was read is sent back as it is, but for what can't be set", async () => {
    const id = await make();
    const at = `${path}/${id}`;
    const shown = (await http.ask("GET", at)).body;

    const changed = await http.ask("PUT", at, { body: only(shown, taken("PUT", `${path}/{${parameter}}`)) });
    expect([changed.status, without(changed.body, OWN)]).toEqual([200, without(shown, OWN)]);

    const body = { ...only(shown, taken("POST", path)), ...(await another()) };
    const made = await http.ask("POST", path, { body });
    const its = Object.keys(await another());
    expect([made.status, without(made.body, [...OWN, ...its])]).toEqual([201, without(shown, [...OWN, ...its])]);
  });

  test("sent back whole, every field that can't be set is named, and that it is left out", async () => {
    const shown = (await http.ask("GET", `${path}?limit=1`)).body;
    const [record = {}] = Object.values(shown).find((value): value is Record_[] => Array.isArray(value)) ?? [];
    const answer = await http.ask("PUT", `${path}/${String(record["id"])}`, { body: record });
    const errors = answer.body["errors"] as { path: string; message: string }[];
    expect([answer.status, new Set(errors.map(({ message }) => message))]).toEqual([400, new Set([READ_ONLY])]);
  });
});

test("a webhook endpoint is made of the record of another", async () => {
  const scope = { reseller_id: http.reseller_id, merchant_id: null };
  const body = { ...scope, url: "http://127.0.0.1:9/hook", types: ["lead.finished"] };
  const first = await http.ask("POST", "/webhook-endpoints", { body });
  expect([first.status, first.body["merchant_id"]]).toEqual([201, null]);
  const shown = (await http.ask("GET", `/webhook-endpoints/${String(first.body["id"])}`)).body;
  const again = await http.ask("POST", "/webhook-endpoints", {
    body: only(shown, taken("POST", "/webhook-endpoints")),
  });
  expect([again.status, without(again.body, [...OWN, "secret"])]).toEqual([201, without(shown, OWN)]);
});

test("null in a field that must be given, or that no record shows as null, is still refused", async () => {
  const body = { ...reminderTemplate({ reseller_id: http.reseller_id }), name: null, language: null };
  const answer = await http.ask("POST", "/templates", { body });
  const errors = answer.body["errors"] as { path: string }[];
  expect([answer.status, errors.map(({ path }) => path).toSorted()]).toEqual([400, ["language", "name"]]);
});
