import { RelayCaller } from "../fixtures/relay-caller.ts";
import { conversationStage } from "../fixtures/conversation-stage.ts";
import { setStage, until, type Stage } from "../../../local/harness/stage.ts";
import conversation from "../../../services/conversation/conversation.service.ts";
import { phrasesFor } from "../../../shared/phrases.ts";
import { ConversationWorld } from "../fixtures/conversation-world.ts";
import { opened, refused } from "../fixtures/conversation-world.ts";

let world: ConversationWorld;
let stage: Stage;

conversationStage((running) => ({ world, stage } = running));

describe("who is let in", () => {
  test("a token works once; the signature is checked over the path as asked", async () => {
    const p = await world.prepare(stage);
    const caller = await opened(p);
    expect(world.paths).toContain(new URL(p.media_url).pathname);
    expect(await refused(p.media_url)).toBe("answered 401");
    caller.hangUp();
    await world.settledOf(p.lead_id);
    expect(await refused(p.media_url)).toBe("answered 401");
  });
  test("a wrong signature is refused and does not use the token up", async () => {
    const p = await world.prepare(stage);
    expect(await refused(p.media_url, { "x-twilio-signature": "forged" })).toBe("answered 401");
    expect(await refused(p.media_url, {})).toBe("answered 401");
    const caller = await opened(p);
    caller.hangUp();
    await world.settledOf(p.lead_id);
  });
  test("two sockets with one token at once: one is let in", async () => {
    const p = await world.prepare(stage);
    const both = await Promise.all([
      RelayCaller.connect(p.media_url).catch((e: Error) => e.message),
      RelayCaller.connect(p.media_url).catch((e: Error) => e.message),
    ]);
    expect(both.filter((b) => b === "answered 401").length).toBe(1);
    for (const b of both) if (typeof b !== "string") b.hangUp();
    await world.settledOf(p.lead_id);
  });
  test("unknown tokens, other providers, other paths are refused", async () => {
    const p = await world.prepare(stage);
    expect(await refused(p.media_url.slice(0, -4) + "0000")).toBe("answered 401");
    expect(await refused(p.media_url.replace("PROVIDER_ONE", "PROVIDER_TWO"))).toBe("answered 401");
    expect(await refused(p.media_url.replace("/media/", "/audio/"))).toBe("answered 404");
  });
  test("an attempt that is over is hung up politely, and nothing else happens", async () => {
    const p = await world.prepare(stage);
    world.go = false;
    const before = world.extends;
    const caller = await RelayCaller.connect(p.media_url);
    caller.setup();
    await caller.over();
    world.go = true;
    expect(caller.frames).toEqual([{ type: "end" }]);
    expect(world.extends).toBe(before);
    expect(world.calls).not.toContain(`hangUp ${p.call_ref}`);
    expect(world.settled.some((s) => s.lead_id === p.lead_id)).toBe(false);
  });
  test("a dialer that is down for a moment is asked again", async () => {
    const p = await world.prepare(stage);
    world.joinFails = 1;
    const caller = await opened(p);
    caller.hangUp();
    await world.settledOf(p.lead_id);
  });
});

/** The limit is short, and what hangs does so until the test ends: a slow machine only makes it surer that the limit passes. */
describe("who answers while something is away hears a goodbye, and the call ends", () => {
  let away: ConversationWorld;
  let short: Stage;
  const over = Promise.withResolvers<void>();
  beforeAll(async () => {
    away = new ConversationWorld();
    short = await setStage({
      services: [conversation, ...away.services],
      env: { OPENAI_MODEL: "m", OPENAI_API_KEY: "k", OPENAI_BASE_URL: "http://127.0.0.1:9", ANSWER_LIMIT_MS: "1000" },
    });
  });
  afterAll(async () => {
    over.resolve();
    await short.stop();
  });

  const hearsGoodbye = async (media_url: string): Promise<void> => {
    const caller = await RelayCaller.connect(media_url);
    caller.setup();
    await caller.over();
    expect(caller.frames).toEqual([
      { type: "text", token: phrasesFor("en").trouble, last: true, interruptible: false },
      { type: "end" },
    ]);
  };
  const toldOf = (call_ref: string): Promise<true> =>
    until(
      "the dialer to be told",
      () => away.hangUps.some((h) => h.call_ref === call_ref && h.reason === "not_begun") || undefined,
    );

  test("the bus is slow at the check of the signature", async () => {
    const p = await away.prepare(short);
    away.whileVerifying = () => over.promise;
    await hearsGoodbye(p.media_url);
    away.whileVerifying = () => Promise.resolve();
    await toldOf(p.call_ref);
  });
  test("the check of the signature fails at once", async () => {
    const p = await away.prepare(short);
    away.verifyFails = true;
    await hearsGoodbye(p.media_url);
    away.verifyFails = false;
    await toldOf(p.call_ref);
  });
  test("the dialer is slow at the hand-over", async () => {
    const p = await away.prepare(short);
    away.whileJoining = () => over.promise;
    await hearsGoodbye(p.media_url);
    away.whileJoining = () => Promise.resolve();
    await toldOf(p.call_ref);
    expect(away.settled.some((s) => s.lead_id === p.lead_id)).toBe(false);
  });
  test("a forged signature gets no goodbye", async () => {
    const p = await away.prepare(short);
    expect(await refused(p.media_url, { "x-twilio-signature": "forged" })).toBe("answered 401");
  });
});
