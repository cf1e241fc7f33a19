import { RelayCaller } from "../fixtures/relay-caller.ts";
import { conversationStage } from "../fixtures/conversation-stage.ts";
import type { Stage } from "../../../local/harness/stage.ts";
import type { ConversationWorld } from "../fixtures/conversation-world.ts";
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
  test("unknown tokens, other providers, other paths; a check that can't be made is 503", async () => {
    const p = await world.prepare(stage);
    expect(await refused(p.media_url.slice(0, -4) + "0000")).toBe("answered 401");
    expect(await refused(p.media_url.replace("PROVIDER_ONE", "PROVIDER_TWO"))).toBe("answered 401");
    expect(await refused(p.media_url.replace("/media/", "/audio/"))).toBe("answered 404");
    world.verifyFails = true;
    expect(await refused(p.media_url)).toBe("answered 503");
    world.verifyFails = false;
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
