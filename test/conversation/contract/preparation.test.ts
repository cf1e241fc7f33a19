import { randomUUID } from "node:crypto";
import conversation from "../../../services/conversation/conversation.service.ts";
import { callRef } from "../../../shared/ids.ts";
import { RelayCaller } from "../fixtures/relay-caller.ts";
import { conversationStage } from "../fixtures/conversation-stage.ts";
import type { ScriptedModel } from "../fixtures/scripted-model.ts";
import { setStage, until, type Stage } from "../../../local/harness/stage.ts";
import { PAYLOAD } from "../../fixtures/flow-template.ts";
import type { ConversationWorld } from "../fixtures/conversation-world.ts";
import { opened, prepareOne, refused } from "../fixtures/conversation-world.ts";

let model: ScriptedModel;
let world: ConversationWorld;
let stage: Stage;

conversationStage((running) => ({ model, world, stage } = running));

describe("preparing", () => {
  test("gives a one-use address with 128 random bits, language and voice", async () => {
    const p = await world.prepare(stage);
    expect(p.media_url).toMatch(/^ws:\/\/127\.0\.0\.1:\d+\/media\/PROVIDER_ONE\/[0-9a-f]{32}$/);
    const again = await world.prepare(stage, { language: "de-DE", voice: "v" });
    expect(again.media_url).not.toBe(p.media_url);
  });
  test("an unknown template is refused; a function with a broken schema, which can't be saved any more, keeps no call from being made", async () => {
    await expect(
      prepareOne(stage.bus, {
        call_ref: callRef(randomUUID(), 1),
        lead_id: randomUUID(),
        claim_no: 1,
        provider: "PROVIDER_ONE",
        template_id: randomUUID(),
        template_version: 1,
        voicemail_action: "hangup",
        carrier: "twilio",
        engine: null,
        record: false,
        payload: {},
        max_call_seconds: 60,
        ttl_seconds: 60,
      }),
    ).rejects.toMatchObject({ type: "TEMPLATE_NOT_FOUND" });
    await expect(
      world.prepare(stage, {
        global_functions: [{ name: "f", description: "d", parameters: { properties: { a: { type: "wat" } } } }],
      }),
    ).resolves.toBeDefined();
  });
  test("many at once: each by itself, one look-up for each template version; what can't be prepared spoils nothing", async () => {
    const [known, unknown] = [world.template(), randomUUID()];
    const call = (template_id: string, lead_id: string = randomUUID()) => ({
      call_ref: callRef(lead_id, 1),
      lead_id,
      claim_no: 1,
      provider: "PROVIDER_ONE" as const,
      template_id,
      template_version: 1,
      voicemail_action: "hangup" as const,
      carrier: "twilio" as const,
      engine: null,
      record: false,
      payload: PAYLOAD,
      max_call_seconds: 60,
      ttl_seconds: 60,
    });
    const begun = await world.prepare(stage);
    const live = await opened(begun);
    const good = Array.from({ length: 40 }, () => call(known));
    const asked = world.templatesAsked;
    const { results } = await stage.bus.call("conversation.prepareMany", {
      calls: [call(unknown), ...good, call(known, begun.lead_id)],
    });
    expect(results.map((r) => r.refusal?.code ?? "ready")).toEqual([
      "TEMPLATE_NOT_FOUND",
      ...good.map(() => "ready"),
      "BUSY",
    ]);
    expect(world.templatesAsked - asked).toBe(2);
    expect(new Set(results.flatMap((r) => (r.prepared ? [r.prepared.media_url] : []))).size).toBe(40);
    await stage.bus.call("conversation.prepareMany", { calls: good.slice(0, 20) });
    expect(await refused(results[1]?.prepared?.media_url ?? "")).toBe("answered 401"); // voided by the second time
    const caller = await RelayCaller.connect(results[30]?.prepared?.media_url ?? "");
    caller.setup();
    await caller.hears("do you confirm");
    for (const each of [caller, live]) each.hangUp();
    await Promise.all([world.settledOf(good[29]?.lead_id ?? ""), world.settledOf(begun.lead_id)]);
  });
  test("a conversation that needs models this deployment does not have is refused, and it is said which; the template has the say", async () => {
    const call = (template_id: string, engine: "cascade" | null) => {
      const lead_id = randomUUID();
      return {
        call_ref: callRef(lead_id, 1),
        lead_id,
        claim_no: 1,
        provider: "PROVIDER_ONE" as const,
        template_id,
        template_version: 1,
        voicemail_action: "hangup" as const,
        carrier: "twilio" as const,
        engine,
        record: false,
        payload: PAYLOAD,
        max_call_seconds: 60,
        ttl_seconds: 60,
      };
    };
    const [plain, spoken, relayed] = [
      world.template(),
      world.template({ engine: "realtime" }),
      world.template({ engine: "relay" }),
    ];
    const { results } = await stage.bus.call("conversation.prepareMany", {
      calls: [call(plain, null), call(plain, "cascade"), call(spoken, null), call(relayed, "cascade")],
    });
    expect(results.map((r) => [r.prepared?.kind ?? null, r.refusal?.code ?? null])).toEqual([
      ["text", null],
      [null, "NOT_AVAILABLE"],
      [null, "NOT_AVAILABLE"],
      ["text", null],
    ]);
    expect([results[1]?.refusal?.message, results[2]?.refusal?.message]).toEqual([
      expect.stringContaining("STT_BASE_URL"),
      expect.stringContaining("REALTIME_BASE_URL"),
    ]);
  });
  test("preparing again voids the address before", async () => {
    const template_id = world.template();
    const lead_id = randomUUID();
    const order = {
      call_ref: callRef(lead_id, 1),
      lead_id,
      claim_no: 1,
      provider: "PROVIDER_ONE",
      template_id,
      template_version: 1,
      voicemail_action: "hangup",
      carrier: "twilio",
      engine: null,
      record: false,
      payload: PAYLOAD,
      max_call_seconds: 60,
      ttl_seconds: 60,
    } as const;
    const first = await prepareOne(stage.bus, order);
    const second = await prepareOne(stage.bus, order);
    expect(await refused(first.media_url)).toBe("answered 401");
    const caller = await RelayCaller.connect(second.media_url);
    caller.setup();
    await caller.hears("do you confirm");
    await expect(prepareOne(stage.bus, order)).rejects.toMatchObject({ type: "BUSY" });
    caller.hangUp();
    await world.settledOf(lead_id);
  });
});

test("at shutdown new sockets are refused and conversations end politely, settled", async () => {
  const mine = await setStage({
    services: [conversation, ...world.services],
    env: { OPENAI_BASE_URL: model.url, OPENAI_MODEL: "m", SHUTDOWN_GRACE_SECONDS: "6" },
  });
  const p = await world.prepare(mine);
  const waiting = await world.prepare(mine);
  const caller = await opened(p);
  const stopping = mine.stop();
  expect(
    await until("new sockets to be refused", async () => {
      const said = await refused(waiting.media_url);
      return said === "answered 503" ? said : undefined;
    }),
  ).toBe("answered 503");
  await caller.hears("something went wrong on our side");
  const { facts } = await world.settledOf(p.lead_id);
  expect(facts.talk).toMatchObject({ ended_by: "error", errors: [{ code: "SHUTDOWN", node: "ask" }] });
  await stopping;
});
