import { randomUUID } from "node:crypto";
import type { ActionName, ParamsOf } from "../../../shared/bus/bus.ts";
import { isRecord, jsonBytes, textOf } from "../../../shared/json.ts";
import { asAdmin } from "../../../local/harness/stage.ts";
import { at, delivery, KIB, largestStage, lead, merchant, MOST_BYTES, owner, R, stamps, wide, type LargestStage } from "../../fixtures/bus/largest-stage.ts"; // prettier-ignore

/** The largest pages that stored data can give, over a real server. */
const TEST_MS = 120_000;
const by = asAdmin;
let it: LargestStage;
beforeAll(async () => {
  it = await largestStage();
}, TEST_MS);
afterAll(() => it?.stop());

/** Of each list, and asked for at once. */
const ITEMS = 120;

/** A list: its collection, a document of it with the largest contents, the field that its page is in, and what it is asked with. */
interface List<N extends ActionName = ActionName> {
  action: N;
  field: string;
  collection: string;
  doc: (i: number) => object;
  asked: ParamsOf<N>;
}
const list = <N extends ActionName>(
  action: N,
  collection: string,
  field: string,
  doc: (i: number) => object,
  asked: ParamsOf<N>,
): List<N> => ({ action, collection, field, doc, asked });

const page = { by, limit: 500 };
const templateRecord = (id: string, version: number, bytes: number) => ({
  id,
  version,
  ...owner,
  name: wide(200),
  is_active: true,
  variables: [],
  initial_node: "a",
  nodes: [{ name: "a", prompt: "p".repeat(bytes) }],
  global_functions: [],
  greeting: null,
  voice: null,
  language: "en",
  limits: {},
  retry_on: null,
  evaluators: [],
  payload_schema: null,
  created_at: at(0).toISOString(),
  updated_at: at(0).toISOString(),
});
const head = (i: number) => ({ _id: randomUUID(), ...owner, name: wide(200), is_active: true, version: 1, max_age_seconds: 60, max_call_seconds: 60, retry_on: null, ...stamps(i) }); // prettier-ignore

const lists = [
  list("auth.listUsers", "users", "users", (i) => ({ ...owner, access_given_by: { kind: "user", id: R }, email: `${"e".repeat(250)}${i}`, role: "reseller", is_active: true, ...stamps(i) }), page), // prettier-ignore
  list("auth.listS2s", "s2s_tokens", "s2s_tokens", (i) => ({ ...owner, name: wide(200), role: "reseller", token_hash: `h${i}`, token_prefix: "p".repeat(16), expires_at: at(0), last_seen_at: null, revoked_at: null, revoked_with: R, issued_by: { kind: "user", id: R }, ...stamps(i) }), page), // prettier-ignore
  list("auth.listAudit", "audit", "entries", (i) => ({ ...owner, actor: { kind: "user", id: "u", role: "admin" }, action: "a.b", subject: wide(200), details: { note: wide(2000), of: wide(1000) }, created_at: at(i) }), page), // prettier-ignore
  list("blacklist.list", "blacklist", "entries", (i) => ({ reseller_id: R, phone_number: `+1415${5_550_000 + i}`, listed_by: "u", created_at: at(i) }), page), // prettier-ignore
  list("merchants.listResellers", "resellers", "resellers", (i) => ({ name: wide(200), name_key: "k", is_active: true, ...stamps(i) }), page), // prettier-ignore
  list("merchants.list", "merchants", "merchants", merchant, page),
  list("numbers.list", "numbers", "numbers", (i) => ({ ...owner, phone_number: `+1415${5_550_000 + i}`, provider: "PROVIDER_ONE", status: "AVAILABLE", channel: wide(32), max_concurrent_calls: 1, country: "US", slots: [], removed: null, used_at: at(0), ...stamps(i) }), page), // prettier-ignore
  list("webhook.list", "deliveries", "deliveries", delivery, page),
  list("leads.list", "leads", "leads", lead, page),
];

/** Every page of a list, each answered below the bound; the ids, or for want of them the numbers, in order. */
async function walked({ action, field, asked }: List): Promise<string[]> {
  const found: string[] = [];
  for (let cursor: string | null = "", pages = 0; cursor !== null && pages <= ITEMS; pages++) {
    const answer: unknown = await it.stage.bus.call(action, { ...asked, ...(cursor === "" ? {} : { cursor }) });
    expect(jsonBytes(answer)).toBeLessThan(MOST_BYTES);
    const items = isRecord(answer) && Array.isArray(answer[field]) ? answer[field].filter(isRecord) : [];
    expect(items.length).toBeGreaterThan(0);
    found.push(...items.map((item) => textOf(item["id"] ?? item["phone_number"])));
    cursor = isRecord(answer) && typeof answer["next_cursor"] === "string" ? answer["next_cursor"] : null;
  }
  return found;
}

test.each(lists)(
  "$action of largest items: every one of them, in pages that the bus takes",
  async (of) => {
    const docs = Array.from({ length: ITEMS }, (_, i) => ({ _id: randomUUID(), ...of.doc(i) }));
    await it.db.collection<{ _id: string }>(of.collection).deleteMany({});
    await it.db.collection<{ _id: string }>(of.collection).insertMany(docs);
    const names = docs.map((d) => (of.collection === "blacklist" && "phone_number" in d ? d.phone_number : d._id));
    expect(await walked(of)).toEqual(names);
  },
  TEST_MS,
);

test(
  "templates and their versions, the largest that are taken: every one of them",
  async () => {
    const heads = Array.from({ length: 12 }, (_, i) => head(i));
    const [first] = heads;
    const id = first?._id ?? "";
    await it.db.collection<{ _id: string }>("templates").insertMany(heads);
    const version = (of: string, v: number) => ({ _id: `${of}:${v}`, template_id: of, version: v, record: JSON.stringify(templateRecord(of, v, 250 * KIB)), created_at: at(100 - v) }); // prettier-ignore
    await it.db.collection<{ _id: string }>("template_versions").insertMany([
    ...heads.map(({ _id }) => version(_id, 1)),
    ...Array.from({ length: 9 }, (_, i) => version(id, i + 2)),
  ]); // prettier-ignore
    await it.db.collection<{ _id: string }>("templates").updateOne({ _id: id }, { $set: { version: 10 } });
    expect(await walked(list("config.listTemplates", "templates", "templates", head, page))).toEqual(heads.map((h) => h._id)); // prettier-ignore
    expect(await walked(list("config.listVersions", "templates", "versions", head, { ...page, id }))).toHaveLength(10);
  },
  TEST_MS,
);

test(
  "configurations with the largest pre-checks and whitelists: every one of them",
  async () => {
    const heads = Array.from({ length: 60 }, (_, i) => head(i));
    const settings = JSON.stringify({
      initial_offset: 0,
      retry_offset: 60,
      max_retry: 1,
      calling_provider: "PROVIDER_ONE",
      call_start_time: "00:00",
      call_end_time: "00:00",
      pre_checks: [{ body: "b".repeat(32 * KIB) }],
      rate_limit_whitelist: Array.from({ length: 1000 }, (_, i) => `+14155552${String(i).padStart(3, "0")}`),
    });
    const docs = heads.map(({ _id }, i) => ({ _id: randomUUID(), template_id: _id, ...owner, settings, ...stamps(i) }));
    await it.db.collection<{ _id: string }>("templates").insertMany(heads);
    await it.db.collection<{ _id: string }>("configurations").insertMany(docs);
    expect(await walked(list("config.listConfigurations", "configurations", "configurations", head, page))).toEqual(docs.map((d) => d._id)); // prettier-ignore
  },
  TEST_MS,
);

test("every lead of a request_id with the largest names: pages that go on where they were cut", async () => {
  const of = list("leads.byRequest", "leads", "leads", lead, { ...page, request_id: wide(200) });
  const docs = Array.from({ length: ITEMS }, (_, i) => ({ _id: randomUUID(), ...lead(i) }));
  await it.planted("leads", docs);
  expect(await walked(of)).toEqual(docs.map((d) => d._id));
});
