import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import leads from "../../../../services/leads/leads.service.ts";
import type { ParamsOf, ResultOf } from "../../../../shared/bus/bus.ts";
import { noFacts } from "../../../../shared/contracts/records/attempt.ts";
import type { Verdict } from "../../../../shared/contracts/dialer.ts";
import type { SessionOrder } from "../../../../shared/contracts/records/session.ts";
import { codeOf, fail, type ErrorCode } from "../../../../shared/errors.ts";
import { callRef } from "../../../../shared/ids.ts";
import { asMerchant, setStage, standIn, until, type Stage } from "../../../../local/harness/stage.ts";
import { keepsReports, leadInput, M, R, resolvedTemplate } from "../../../fixtures/leads-stage.ts";
import { resolvesPushes } from "../../../fixtures/push-resolution.ts";
import { virtualClock } from "../../../fixtures/virtual-clock.ts";

/** Session leads between stand-ins of the scheduler and the dialer. */
const clock = virtualClock();
const by = asMerchant(R, M);
const JOIN_SECONDS = 600;
const DOOR = "4d3a2b1c-0f9e-4d8c-9b7a-6f5e4d3c2b1a";
const HOOK = "http://client.example/calls";
const PLAN = { template_version: 3, max_call_seconds: 120, record: true, engine: null };
const ADMITTED: ResultOf<"scheduler.admitSession"> = {
  verdict: "admitted",
  gate: null,
  detail: "",
  outcome: null,
  plan: PLAN,
};
const reports: { lead_id: string; url: string; data: Record<string, unknown> }[] = [];
let ruling = ADMITTED;
let refused: ErrorCode | null = null;
let opened: SessionOrder[] = [];
let rejoined: string[] = [];
let verdict: Verdict = { verdict: "never_dialled" };
let stage: Stage;
let recordings: Record<string, NonNullable<ResultOf<"dialer.recordingOf">["recording"]>> = {};
const access = (call_ref: string) => ({
  url: "ws://media",
  token: "t",
  room_name: `rtc-${call_ref}`,
  expires_at: clock.now().toISOString(),
});
beforeAll(async () => {
  stage = await setStage({
    clock,
    services: [
      leads,
      standIn("config", {
        ...resolvesPushes(() => ({ ...resolvedTemplate, rtc_join_timeout_seconds: JOIN_SECONDS })),
        resolveDoor: () => ({ door_id: DOOR, merchant_id: M, template: resolvedTemplate, reporting_webhook_url: HOOK }),
        countDoor: () => ({}),
      }),
      standIn("blacklist", { check: ({ pairs }) => ({ listed: pairs.map(() => false) }) }),
      standIn("webhook", {
        checkAddresses: ({ urls }) => ({ refusals: urls.map(() => null) }),
        enqueueMany: keepsReports(reports),
        deliveries: () => ({ deliveries: [] }),
      }),
      standIn("scheduler", { admitSession: () => ruling }),
      standIn("dialer", {
        openSession(order) {
          if (refused) fail(refused, "not now");
          opened.push(order);
          return access(callRef(order.lead_id, order.claim_no));
        },
        rejoinSession({ call_ref }) {
          rejoined.push(call_ref);
          return access(call_ref);
        },
        reconcile: () => verdict,
        recordingOf: ({ call_id }) => ({ recording: recordings[call_id] ?? null }),
        history: () => ({ calls: [], carrier_events: [] }),
      }),
    ],
  });
});
afterAll(() => stage.stop());
beforeEach(() => {
  ruling = ADMITTED;
  refused = null;
  opened = [];
  rejoined = [];
  verdict = { verdict: "never_dialled" };
});

const push = async (over: Partial<ParamsOf<"leads.push">["lead"]> = {}) =>
  (await stage.bus.call("leads.push", { by, lead: leadInput({ execution_mode: "RTC", ...over }) }))
    .lead_call_tracker_id;
const join = (lead_id: string) => stage.bus.call("leads.join", { by, lead_id });
const refusal = (lead_id: string) => join(lead_id).then(() => "joined", codeOf);
const linkOf = async (lead_id: string) =>
  (await stage.bus.call("leads.joinLink", { by, lead_id })).url.split("/r/")[1] ?? "";
const get = (lead_id: string) => stage.bus.call("leads.get", { by, lead_id });

describe("a session lead", () => {
  test("waits without a number too, is claimed by the first who joins and open to whoever joins again", async () => {
    const pushed = await stage.bus.call("leads.push", {
      by,
      lead: leadInput({ execution_mode: "RTC", payload: { customer_name: "Ada" } }),
    });
    const lead_id = pushed.lead_call_tracker_id;
    expect(pushed.message).toContain("waits until a client joins");
    expect(await join(lead_id)).toEqual({ transport: "websocket", ...access(`${lead_id}.1`) });
    expect(opened).toEqual([expect.objectContaining({ lead_id, claim_no: 1, execution_mode: "RTC", ...PLAN })]);
    expect(await get(lead_id)).toMatchObject({ status: "PROCESSING", attempt_count: 1, outbound_number_id: null });
    await join(lead_id);
    expect([opened.length, rejoined]).toEqual([1, [`${lead_id}.1`]]);
  });

  test("comes back when nobody arrived, is joined again, and ends with its conversation and its report", async () => {
    const lead_id = await push({ reporting_webhook_url: "http://client.example/hook" });
    await join(lead_id);
    const due_at = clock.now().toISOString();
    await stage.bus.call("leads.release", { lead_id, claim_no: 1, due_at, reason: "no_client_joined" });
    expect(await get(lead_id)).toMatchObject({ status: "BACKLOG", attempt_count: 0 });
    await join(lead_id);
    expect(opened.at(-1)?.claim_no).toBe(2);
    const facts = { ...noFacts("completed"), call_id: `rtc-${lead_id}.2`, answered_at: due_at, ended_at: due_at };
    await stage.bus.call("leads.settle", { lead_id, claim_no: 2, facts });
    const lead = await get(lead_id);
    expect([lead.status, lead.attempt_count, lead.call_id]).toEqual(["FINISHED", 1, `rtc-${lead_id}.2`]);
    await until("its report", () => reports.some((r) => r.lead_id === lead_id) || undefined, undefined, undefined);
    expect(await refusal(lead_id)).toBe("SESSION_OVER");
  });

  test("is never tried again by itself, whatever became of it", async () => {
    const lead_id = await push();
    await join(lead_id);
    await stage.bus.call("leads.settle", { lead_id, claim_no: 1, facts: noFacts("failed") });
    expect(await get(lead_id)).toMatchObject({ status: "FINISHED", outcome: "failed" });
  });

  test.each(["BUSY", "NOT_AVAILABLE", "SESSION_HELD"] as const)(
    "waits on where opening is refused: %s",
    async (code) => {
      refused = code;
      const lead_id = await push();
      expect(await refusal(lead_id)).toBe(code);
      expect(await get(lead_id)).toMatchObject({ status: "BACKLOG", attempt_count: 0 });
      refused = null;
      expect(await refusal(lead_id)).toBe("joined");
    },
  );

  test("that a gate holds waits, one that a gate drops ends, one that is dialled is not joined", async () => {
    const held = await push();
    ruling = { ...ADMITTED, verdict: "deferred", gate: "deployment", detail: "Calling is paused.", plan: null };
    expect([await refusal(held), (await get(held)).status]).toEqual(["SESSION_HELD", "BACKLOG"]);
    ruling = { ...ruling, verdict: "dropped", gate: "blacklist", outcome: "BLACKLISTED" };
    expect([await refusal(held), (await get(held)).outcome]).toEqual(["NUMBER_BLACKLISTED", "BLACKLISTED"]);
    expect(await refusal(await push({ execution_mode: "TELEPHONY" }))).toBe("WRONG_MODE");
  });

  test("that nobody joins ends EXPIRED within its time, and one that is joined does not", async () => {
    const [late, joined] = [await push(), await push()];
    await join(joined);
    await clock.advance((JOIN_SECONDS - 1) * 1000);
    expect((await get(late)).status).toBe("BACKLOG");
    verdict = { verdict: "live", lease_seconds: 60 };
    await until("it to expire", async () => {
      await clock.advance(1000);
      return (await get(late)).outcome === "EXPIRED" || undefined;
    });
    expect([await refusal(late), (await get(joined)).status]).toEqual(["SESSION_OVER", "PROCESSING"]);
  });

  test("of a visitor who does not come ends EXPIRED, one whose holder is lost too, and both are reported", async () => {
    const key = "k".repeat(24);
    const called = async () => {
      await stage.bus.call("leads.callByDoor", { key, origin: "https://shop.example", variables: {} });
      return opened.at(-1)?.lead_id ?? "";
    };
    const [late, lost] = [await called(), await called()];
    expect(await get(late)).toMatchObject({ status: "PROCESSING", call_direction: "INBOUND", attempt_count: 1 });
    const due_at = clock.now().toISOString();
    await stage.bus.call("leads.release", { lead_id: late, claim_no: 1, due_at, reason: "no_client_joined" });
    expect((await stage.bus.call("leads.explain", { by, lead_id: late })).summary).toContain("nobody has joined");
    await until("both to expire", async () => {
      await clock.advance(5000);
      const outcomes = await Promise.all([late, lost].map(async (id) => (await get(id)).outcome));
      return outcomes.every((outcome) => outcome === "EXPIRED") || undefined;
    });
    await until(
      "their reports",
      () => [late, lost].every((id) => reports.some((r) => r.lead_id === id && r.url === HOOK)) || undefined,
    );
  });

  test("whose holder was lost before anybody arrived waits on", async () => {
    const lead_id = await push();
    await join(lead_id);
    await until("its lease to be lost", async () => {
      await clock.advance(5000);
      return (await get(lead_id)).status === "BACKLOG" || undefined;
    });
    expect((await get(lead_id)).attempt_count).toBe(0);
  });

  test("is joined in a LiveKit room by the page that can be in one", async () => {
    const lead_id = await push();
    const link = await linkOf(lead_id);
    await stage.bus.call("leads.joinByLink", { link, livekit: true });
    expect(opened.at(-1)).toMatchObject({ lead_id });
    expect(opened.at(-1)?.via).toBeUndefined();
  });

  test("is joined by its link by one tab, which alone comes back, until the lead is over; a new link voids the old", async () => {
    const lead_id = await push();
    const enter = (link: string, resume?: string) =>
      stage.bus.call("leads.joinByLink", { link, ...(resume === undefined ? {} : { resume }) });
    const [old, link] = [await linkOf(lead_id), await linkOf(lead_id)];
    expect(await enter(old).catch(codeOf)).toBe("LEAD_NOT_FOUND");
    expect((await get(lead_id)).status).toBe("BACKLOG");
    const { resume, room_name } = await enter(link);
    expect(room_name).toBe(`rtc-${lead_id}.1`);
    expect(await Promise.all([enter(link).catch(codeOf), enter(link, "guessed").catch(codeOf)])).toEqual([
      "SESSION_TAKEN",
      "SESSION_TAKEN",
    ]);
    expect((await enter(link, resume)).resume).toBe(resume);
    expect(opened.at(-1)?.via).toBe("websocket");
    await stage.bus.call("leads.settle", { lead_id, claim_no: 1, facts: noFacts("completed") });
    expect(await enter(link, resume).catch(codeOf)).toBe("SESSION_OVER");
    expect(JSON.stringify(await get(lead_id))).not.toContain(link);
  });
});

describe("the recording of a session", () => {
  const WHERE = { key: "2026/01/01/a.wav", content_type: "audio/wav", bytes: 100, where: "local" } as const;
  /** A session that a tab has held, and what it hears of the recording. */
  async function held(execution_mode: "RTC" | "RTC_TEST" | "RTC_STREAM") {
    const lead_id = await push({ execution_mode });
    const link = await linkOf(lead_id);
    const { resume } = await stage.bus.call("leads.joinByLink", { link });
    const heard = (secret = resume) =>
      stage.bus.call("leads.recordingByLink", { link, resume: secret }).catch((error: unknown) => codeOf(error));
    return { lead_id, link, heard };
  }
  const over = async (lead_id: string, claim_no = 1) => {
    const call_id = `rtc-${lead_id}.${claim_no}`;
    await stage.bus.call("leads.settle", { lead_id, claim_no, facts: { ...noFacts("completed"), call_id } });
    recordings[call_id] = { lead_id, state: "stored", ...WHERE };
    return call_id;
  };
  beforeEach(() => {
    recordings = {};
  });

  test("of a test is heard by the tab that held it, from the end on, for an hour", async () => {
    const { lead_id, heard } = await held("RTC_TEST");
    expect(await heard()).toBe("RECORDING_NOT_READY");
    const call_id = await over(lead_id);
    expect(await heard()).toEqual({ ...WHERE, call_id });
    expect(await heard("another secret")).toBe("LEAD_NOT_FOUND");
    await clock.advance(3_600_000);
    expect(await heard()).toEqual({ ...WHERE, call_id });
    await clock.advance(1000);
    expect(await heard()).toBe("FORBIDDEN");
  });

  test.each(["RTC", "RTC_STREAM"] as const)("of mode %s is the tenant's alone", async (mode) => {
    const { lead_id, heard } = await held(mode);
    await over(lead_id);
    expect(await heard()).toBe("FORBIDDEN");
  });

  test("is told of while it is on its way, and where there is none", async () => {
    const { lead_id, heard } = await held("RTC_TEST");
    const call_id = await over(lead_id);
    const state = (word: "wanted" | "absent" | "failed") => {
      recordings[call_id] = { lead_id, state: word, key: null, content_type: null, bytes: null, where: null };
      return heard();
    };
    expect([await state("wanted"), await state("absent"), await state("failed")]).toEqual([
      "RECORDING_NOT_READY",
      "RECORDING_NOT_FOUND",
      "RECORDING_FAILED",
    ]);
    recordings = {};
    expect(await heard()).toBe("RECORDING_NOT_FOUND");
  });

  test("is not heard by a tab that asked for a session which another client then held", async () => {
    const { lead_id, heard } = await held("RTC_TEST");
    const due_at = clock.now().toISOString();
    await stage.bus.call("leads.release", { lead_id, claim_no: 1, due_at, reason: "no_client_joined" });
    await join(lead_id);
    await over(lead_id, 2);
    expect(await heard()).toBe("LEAD_NOT_FOUND");
  });
});
