import { randomUUID } from "node:crypto";
import type { Model } from "mongoose";
import { leadSchema, type LeadDoc, type NewLead } from "../../services/leads/leads.model.ts";
import { leadsRepository, type LeadsRepository } from "../../services/leads/leads.repository.ts";
import { queuesRepository } from "../../services/leads/queues/queues.repository.ts";
import { claim, finish, QUEUED_STATE, renewLease } from "../../services/leads/rules/lead-state-machine.ts";
import { queued } from "../../services/leads/rules/lead-events.ts";
import { annotate, firstEvent } from "../../services/leads/rules/lead-transition.ts";
import { noFacts } from "../../shared/contracts/records/attempt.ts";
import { openStore } from "../../shared/database/mongo.ts";
import { freshDatabase } from "../../local/harness/stage.ts";

const AT = new Date("2026-11-21T10:00:00.000Z");
const LATER = new Date("2026-11-21T11:00:00.000Z");
const URL = "https://client.example/events";
const NOTES = "x".repeat(250_000);
const TEMPLATE = "6f9619ff-8b86-4d01-b42d-00cf4fc964ff";

let database: Awaited<ReturnType<typeof freshDatabase>>;
let store: ReturnType<typeof openStore>;
let model: Model<LeadDoc>;
let leads: LeadsRepository;

beforeAll(async () => {
  database = await freshDatabase();
  store = openStore(database.uri);
  model = store.model("leads", leadSchema);
  await store.open();
  let marks = 0;
  leads = leadsRepository(model, { base64url: () => `m${marks++}` });
});
afterAll(async () => {
  await store.close();
  await database.drop();
});

/** A waiting lead with contents of every kind. */
async function put(over: Partial<NewLead> = {}): Promise<LeadDoc> {
  const lead: NewLead = {
    _id: randomUUID(),
    reseller_id: "r",
    merchant_id: "m",
    template_id: TEMPLATE,
    template: "t",
    request_id: "q",
    queue: TEMPLATE,
    ...QUEUED_STATE,
    ...firstEvent(queued(AT, "pushed", AT)),
    phone_number: "+14155552601",
    payload: { notes: NOTES, reporting_webhook_url: URL },
    execution_mode: "TELEPHONY",
    call_direction: "OUTBOUND",
    is_test: false,
    configurations_override: null,
    due_at: AT,
    expiry_from: AT,
    attempt: null,
    held: null,
    call_id: null,
    call_initiated_time: null,
    call_end_time: null,
    recording_url: null,
    outbound_number_id: null,
    costs: {},
    trace_scores: {},
    meta: { transcription: [NOTES] },
    created_at: AT,
    updated_at: AT,
    finished_at: null,
    history: [{ event: "queued", at: AT, details: { notes: NOTES } }],
    ...over,
  };
  await leads.insert([lead]);
  return lead;
}

const SNAPSHOT = {
  number_id: randomUUID(),
  provider: "PROVIDER_ONE" as const,
  template_version: 1,
  policy: { max_retry: 0, retry_offset: 5, retry_on: null },
  claimed_at: AT,
};
const STATE_ONLY = { payload: { reporting_webhook_url: URL } };
/** What of the contents was read. */
const contents = (read: object | null | undefined): unknown =>
  read &&
  Object.fromEntries(Object.entries(read).filter(([name]) => ["payload", "history", "meta", "outbox"].includes(name)));

test("the owner of a claim gets the payload; every step after it, up to the end that owes an event, reads none of the contents", async () => {
  const { _id: lead_id } = await put();
  const seen = { lead_id, due_at: AT, claim_no: 0 };
  const [claimed] = await leads.claimMany([claim(seen, SNAPSHOT, LATER, AT)]);
  expect(contents(claimed)).toEqual({ payload: { notes: NOTES, reporting_webhook_url: URL } });

  const lease = { lead_id, claim_no: 1 };
  const steps = [
    await leads.transition(renewLease(lease, LATER)),
    await leads.transition(annotate(lease, { call_id: "c" }, { call_id: "c" }, AT)),
    await leads.byLease(lead_id),
    (await leads.expiredLeases(new Date(LATER.getTime() + 1), 10)).find((lead) => lead._id === lead_id),
  ];
  expect(steps.map(contents)).toEqual(steps.map(() => STATE_ONLY));

  const before = await leads.byLease(lead_id);
  const end = before && finish(lease, before, noFacts("no_answer"), "no_answer", LATER);
  const ended = end && (await leads.transition(end));
  expect([contents(ended), ended?.status, ended?.report_due_at]).toEqual([STATE_ONLY, "FINISHED", LATER]);

  const owed = (await leads.owedEvents(LATER, 10)).find((lead) => lead._id === lead_id);
  expect(contents(owed)).toEqual({ ...STATE_ONLY, meta: expect.objectContaining({ transcription: [NOTES] }) });
  expect((await model.findById(lead_id).lean())?.payload).toEqual({ notes: NOTES, reporting_webhook_url: URL });
  expect(await leads.payloadOf(lead_id)).toEqual({ notes: NOTES, reporting_webhook_url: URL });
});

test("leads that expire are read without their contents, and those without a webhook owe no event", async () => {
  const { _id } = await put({ payload: { notes: NOTES }, status: "RETRY" });
  const old = (await queuesRepository(model).waitingSince(TEMPLATE, LATER, 10)).filter((lead) => lead._id === _id);
  expect(old.map(contents)).toEqual([{ payload: {} }]);
  expect(await leads.payloadOf(randomUUID())).toBeNull();
});

test("a lead is read with every field that it may have beside its contents", async () => {
  const fields = Object.keys(leadSchema.paths).filter(
    (name) => !["payload", "history", "meta", "outbox", "__v"].includes(name),
  );
  const { _id } = await put(
    Object.fromEntries(
      [
        "payload_bytes",
        "trace",
        "join_by",
        "link_hash",
        "link_holder",
        "lease_until",
        "report_due_at",
        "call_end",
        "marks",
        "pre_check_defers",
        "faults",
        "aged_from",
        "cost_items",
        "recorded_at",
      ].map((name) => [
        name,
        name === "marks"
          ? ["m"]
          : name === "payload_bytes"
            ? 1
            : name.startsWith("link_") || name === "trace"
              ? "text"
              : name.endsWith("_at") || name.endsWith("_by") || name.endsWith("_until") || name.endsWith("_from")
                ? AT
                : { a: 1 },
      ]),
    ),
  );
  const read = await leads.byLease(_id);
  expect(
    Object.keys(read ?? {})
      .filter((name) => name !== "payload")
      .toSorted(),
  ).toEqual(fields.toSorted());
});
