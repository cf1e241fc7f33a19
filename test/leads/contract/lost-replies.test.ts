import { noFacts } from "../../../shared/contracts/records/attempt.ts";
import type { LeadDoc } from "../../../services/leads/leads.model.ts";
import { asMerchant, freshDatabase, until } from "../../../local/harness/stage.ts";
import { startTcpProxy, through, type TcpProxy } from "../../../local/harness/tcp-proxy.ts";
import { ATTEMPT, claimSeen, leadsStage, M, R, type LeadsStage } from "../../fixtures/leads-stage.ts";
import { LOSSES_TO_GIVE_UP, needing } from "../../fixtures/database-abilities.ts";

// F25: the database did the write, and the answer got lost. Once: the driver asks a replica set again and is told its first answer. Twice: the driver gives up, and the service looks for its own mark.
let at: LeadsStage;
let proxy: TcpProxy;
let database: Awaited<ReturnType<typeof freshDatabase>>;

beforeAll(async () => {
  database = await freshDatabase();
  proxy = await startTcpProxy(database.uri);
  const uri = new URL(through(proxy, database.uri));
  // a driver that lost a connection asks for its server's state at once, not half a second later
  uri.searchParams.set("minHeartbeatFrequencyMS", "10");
  at = await leadsStage({ MONGODB_URI: uri.href });
});
afterAll(async () => {
  await at.stop();
  await proxy.close();
  await database.drop();
});

/** No lease runs out here, so that no sweep writes anything. */
const LEASE = 3600;
const COMMAND_BYTES = 100;
/** A command on leads or push keys: the publisher of events, who has a lease of its own to renew, is left alone. */
const command =
  (name: string) =>
  (request: Buffer): boolean =>
    request.subarray(0, COMMAND_BYTES).includes(`${name}\0`) && !request.subarray(0, COMMAND_BYTES).includes("event_");
/** Loses the next replies to a command while `work` runs, and makes sure that they were lost. */
async function losing<T>(replies: number, name: string, work: () => Promise<T>): Promise<T> {
  const before = proxy.lost();
  proxy.loseReplies(command(name), replies);
  const answer = await work();
  expect(proxy.lost() - before).toBe(replies);
  return answer;
}

const by = asMerchant(R, M);
const { call } = { call: ((name, params) => at.stage.bus.call(name, params)) as LeadsStage["stage"]["bus"]["call"] };
const attempt = { ...ATTEMPT, policy: { ...ATTEMPT.policy, retry_offset: 0 } };
const claim = (seen: Parameters<typeof claimSeen>[1]) => claimSeen(at.stage, seen, attempt, LEASE);
const lead = async (lead_id: string) => (await at.db.collection<LeadDoc>("leads").findOne({ _id: lead_id }))!;
async function due() {
  const { lead_call_tracker_id: lead_id } = await at.push();
  await at.clock.advance(30_000);
  // its first event is published, and nothing is until time goes on
  await until(
    "its event in the log",
    async () => (await at.db.collection("lead_events").countDocuments({ lead_ids: lead_id })) === 1 || undefined,
  );
  return { lead_id, due_at: (await lead(lead_id)).due_at!.toISOString(), claim_no: 0 };
}
async function claimed() {
  const seen = await due();
  await claim(seen);
  return { lead_id: seen.lead_id, claim_no: 1 };
}
const moves = async (lead_id: string) => (await lead(lead_id)).history!.map((h) => h.event);

const afterLosing = (replies: number): void => {
  test("a claim knows itself again: one attempt, one claim number", async () => {
    const seen = await due();
    expect(await losing(replies, "update", () => claim(seen))).toMatchObject({
      lead_id: seen.lead_id,
      claim_no: 1,
      attempt_count: 1,
    });
    expect(await lead(seen.lead_id)).toMatchObject({ status: "PROCESSING", claim_no: 1, attempt_count: 1 });
    expect(await moves(seen.lead_id)).toEqual(["queued", "claimed"]);
  });
  test("claims of many know themselves again, and no other's", async () => {
    const all = [await due(), await due(), await due()];
    await claim(all[1]!);
    const { claimed: got } = await losing(replies, "update", () =>
      call("leads.claimMany", { lease_seconds: LEASE, items: all.map((seen) => ({ ...seen, attempt })) }),
    );
    expect(got.map((c) => c?.lead_id ?? null)).toEqual([all[0]!.lead_id, null, all[2]!.lead_id]);
    for (const { lead_id } of all)
      expect(await lead(lead_id)).toMatchObject({ status: "PROCESSING", claim_no: 1, attempt_count: 1 });
  });
  test("a lead is given back once, and a pre-check is counted once", async () => {
    const baton = await claimed();
    const again = {
      ...baton,
      due_at: at.clock.now().toISOString(),
      reason: "pre-check",
      pre_check: { name: "crm.open", results: [{ name: "crm.open", passed: false }] },
    };
    expect(await losing(replies, "findAndModify", () => call("leads.release", again))).toEqual({ done: true });
    expect(await lead(baton.lead_id)).toMatchObject({
      status: "BACKLOG",
      attempt_count: 0,
      pre_check_defers: { "crm.open": 1 },
      held: { why: "pre_check:crm.open" },
      meta: { pre_check_results: [{ name: "crm.open" }] },
    });
    expect(await call("leads.release", again)).toEqual({ done: false });
    expect(await lead(baton.lead_id)).toMatchObject({ attempt_count: 0, pre_check_defers: { "crm.open": 1 } });
  });
  test("an attempt is settled once: done, whether it is tried again or was the last one", async () => {
    const baton = await claimed();
    expect(
      await losing(replies, "findAndModify", () => call("leads.settle", { ...baton, facts: noFacts("no_answer") })),
    ).toEqual({ done: true, status: "RETRY", outcome: null });
    expect(await moves(baton.lead_id)).toEqual(["queued", "claimed", "retry"]);
    const { due_at } = await lead(baton.lead_id);
    await claim({ ...baton, due_at: due_at!.toISOString() });
    const last = {
      ...noFacts("completed"),
      answered_at: "2026-11-21T10:00:00.000Z",
      ended_at: "2026-11-21T10:01:00.000Z",
      talk: null,
    };
    expect(
      await losing(replies, "findAndModify", () =>
        call("leads.settle", { lead_id: baton.lead_id, claim_no: 2, facts: last }),
      ),
    ).toEqual({ done: true, status: "FINISHED", outcome: "failed" });
    expect(await lead(baton.lead_id)).toMatchObject({
      status: "FINISHED",
      attempt_count: 2,
      answered_count: 1,
      talk_seconds: 60,
    });
  });
  test("an abort that was done is a success, and a drop is done", async () => {
    const seen = await due();
    const { leads } = await losing(replies, "update", () =>
      call("leads.abort", { by, leads: [{ lead_id: seen.lead_id, cancellation_reason: "enough" }] }),
    );
    expect(leads).toMatchObject([{ id: seen.lead_id, status: "success" }]);
    const other = await due();
    expect(
      await losing(replies, "findAndModify", () =>
        call("leads.drop", { lead_id: other.lead_id, due_at: other.due_at, outcome: "BLACKLISTED", reason: "listed" }),
      ),
    ).toEqual({ done: true });
    expect(await moves(other.lead_id)).toEqual(["queued", "dropped"]);
  });
  test("a push is there once", async () => {
    const { lead_call_tracker_id } = await losing(replies, "insert", () =>
      at.push({ request_id: `lost-${replies}` }),
    ).catch(() => ({ lead_call_tracker_id: null }));
    const there = await at.db
      .collection<LeadDoc>("leads")
      .find({ request_id: `lost-${replies}` })
      .toArray();
    expect(there).toHaveLength(1);
    if (lead_call_tracker_id !== null) expect(there[0]?._id).toBe(lead_call_tracker_id);
    expect(lead_call_tracker_id !== null || replies === LOSSES_TO_GIVE_UP).toBe(true);
  });
};

describe("the driver gives up", () => afterLosing(LOSSES_TO_GIVE_UP));
needing("retries", () => {
  describe("the driver asks again", () => afterLosing(1));
});

needing("failPoints", () => {
  test("a failure that the database tells of is one: nothing is claimed or given back, and nobody takes another's claim for their own", async () => {
    const seen = await due();
    const fails = (command: string, how: object) =>
      at.db.admin().command({
        configureFailPoint: "failCommand",
        mode: { times: 1 },
        data: { failCommands: [command], ...how },
      });
    await fails("update", { errorCode: 8000 });
    await expect(claim(seen)).rejects.toThrow();
    expect(await lead(seen.lead_id)).toMatchObject({ status: "BACKLOG", claim_no: 0, attempt_count: 0 });
    // A connection that breaks before anything was done: the driver asks once more by itself.
    await fails("update", { closeConnection: true });
    expect(await claim(seen)).toMatchObject({ claim_no: 1, attempt_count: 1 });
    const release = () =>
      call("leads.release", {
        lead_id: seen.lead_id,
        claim_no: 1,
        due_at: at.clock.now().toISOString(),
        reason: "busy",
      });
    await fails("findAndModify", { errorCode: 8000 });
    await expect(release()).rejects.toThrow();
    expect(await lead(seen.lead_id)).toMatchObject({ status: "PROCESSING", claim_no: 1, attempt_count: 1 });
    await fails("findAndModify", { closeConnection: true });
    expect(await release()).toEqual({ done: true });
  });
});
