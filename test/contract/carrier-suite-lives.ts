import { expect, test } from "@jest/globals";
import type { CarrierRecording } from "../../services/dialer/carriers/port.ts";
import { until } from "../support/stage.ts";
import type { CallNames } from "./carrier-driver.ts";
import type { Suite } from "./carrier.suite.ts";

const SPEECH = { relay: "the carrier's, over a WebSocket", turns: "the carrier's, in turns by documents" };
const RECORDING = { dial: "yes, asked for with the dial", command: "yes, by a command", none: "no" };
/** What a person may wait before our first word is on its way, more than without detection: nothing waits for a verdict. */
const ADDED_SILENCE_MS = 200;
const TALKED_WAV_BYTES = 44;
const TOLD_WITHIN_MS = 8000;
/** A talk of no length has no recording. */
const TALKED_MS = 100;

/** Whole calls between the adapter and simulated people. */
export function liveTests({ b, proved }: Suite): void {
  const ended = async (ref: string) => {
    const end = await b().step(ref, "ended");
    expect(b().received.filter((r) => r.raw.ref === ref && !r.verified)).toEqual([]); // all that the simulator signs is believed
    return end;
  };
  const namesOf = (placed: CallNames): CallNames => ({ ...placed, leg_id: b().names(placed.call_ref).leg_id });

  test("somebody answers, talks and is said goodbye to", async () => {
    const request = b().request("01");
    const { kind, names } = await b().dial(request);
    expect(kind).toBe("placed");
    expect(await ended(request.call_ref)).toMatchObject({ end: "completed", call_id: names.call_id });
    expect(
      b()
        .steps(request.call_ref)
        .map((s) => s.type),
    ).toEqual(expect.arrayContaining([...(b().driver.told("ringing", names) ? ["ringing"] : []), "answered", "ended"]));
    expect(b().agent.heard.filter((h) => h.ref === request.call_ref)).not.toEqual([]);
    expect((await b().ledger("heard", request.to)).map((e) => String(e["text"])).join(" ")).toMatch(
      /may i confirm.*goodbye/is,
    );
    expect(await b().ledger("ring", request.to)).toHaveLength(1);
    const { speech, signs_upgrade } = b().carrier.capabilities;
    proved.set("speech", SPEECH[speech]);
    if (speech === "relay") {
      const upgrade = b().upgrades.find((u) => u.path.endsWith(request.call_ref));
      expect(upgrade?.believed).toBe(true);
      const forged = b().carrier.verifyUpgrade({ path: `${upgrade?.path ?? ""}x`, headers: upgrade?.headers ?? {} });
      expect(forged).toBe(!signs_upgrade);
      if (signs_upgrade) proved.set("WebSocket upgrade signed", "yes");
    }
  });

  test.each([
    ["06", "busy"],
    ["07", "no_answer"],
    ["15", "failed"],
  ] as const)("nobody answers (%s): %s", async (ending, end) => {
    const request = b().request(ending, { ring_seconds: 5 });
    await b().dial(request);
    expect((await ended(request.call_ref)).end).toBe(end);
    expect(
      b()
        .steps(request.call_ref)
        .some((s) => s.type === "answered"),
    ).toBe(false);
  });

  test("callbacks that are doubled, late or forged by somebody: the call ends all the same", async () => {
    const request = b().request("01");
    await b().fault("duplicate_callbacks", { to: request.to });
    await b().fault("forge_callbacks", { to: request.to });
    await b().dial(request);
    await b().step(request.call_ref, "ended");
    const about = b().received.filter((r) => r.raw.ref === request.call_ref);
    expect(about.some((r) => !r.verified)).toBe(true);
    expect(about.filter((r) => r.verified).length).toBeGreaterThan(2);
    expect(about.filter((r) => !r.verified && r.translated !== null)).toEqual([]);
  });

  test("a machine is found out while the talk begins; its beep is awaited where it is told", async () => {
    const { carrier } = b();
    const request = b().request("09", { await_beep: true });
    const { names } = await b().dial(request, { holds: true });
    expect((await b().step(request.call_ref, "machine")).verdict).toBe("machine");
    if (carrier.capabilities.beep) {
      await b().step(request.call_ref, "beep");
      proved.set("end of a machine's greeting told", "yes");
    }
    expect(b().agent.began.get(request.call_ref)).toBeDefined();
    await carrier.hangUp(namesOf(names), true);
    proved.set("machines told from people", "yes");
  });

  test("a person waits for no verdict", async () => {
    const request = b().request("01");
    await b().dial(request);
    await ended(request.call_ref);
    const answered = b().received.find(
      (r) => r.raw.ref === request.call_ref && r.translated?.progress.some((p) => p.type === "answered"),
    );
    const began = b().agent.began.get(request.call_ref) ?? Infinity;
    expect(began - (answered?.at ?? 0)).toBeLessThan(ADDED_SILENCE_MS);
  });

  test("keys go both ways", async () => {
    const { carrier } = b();
    const request = b().request("14");
    await b().dial(request);
    await ended(request.call_ref);
    expect(
      b()
        .agent.digits.filter((d) => d.ref === request.call_ref)
        .map((d) => d.digit),
    ).toEqual(["1"]);
    proved.set("keys from the callee", "yes");
    const other = b().request("05");
    const { names } = await b().dial(other, { holds: true });
    await until("the talk to begin", () => b().agent.began.get(other.call_ref));
    await b().step(other.call_ref, "answered");
    if (carrier.capabilities.digits === "command") await carrier.sendDigits(namesOf(names), "12#");
    else b().agent.press(other.call_ref, "12#");
    const heard = await until("the keys to be heard", async () =>
      (await b().ledger("heard", other.to)).find((e) => String(e["media"] ?? "").startsWith("keys:")),
    );
    expect(heard["media"]).toBe("keys:12#");
    await carrier.hangUp(namesOf(names), true);
    proved.set(
      "keys to the callee",
      carrier.capabilities.digits === "command" ? "by a command" : "in the talk's WebSocket",
    );
  });

  test("a call is recorded, and the recording read", async () => {
    const { carrier, driver, callback_base } = b();
    const { recording } = carrier.capabilities;
    if (recording === "none") return;
    const request = b().request("01", { record: true });
    const { names } = await b().dial(request);
    if (recording === "command") {
      await b().step(request.call_ref, "answered");
      await carrier.record(namesOf(names), { callback_base, call_ref: request.call_ref, limit_seconds: 660 });
    }
    await ended(request.call_ref);
    const told = await until(
      "the recording to be told",
      (): CarrierRecording | undefined =>
        b().received.find((r) => r.raw.ref === request.call_ref && r.translated?.recording)?.translated?.recording ??
        undefined,
      TOLD_WITHIN_MS,
    );
    const opened = await carrier.openRecording(told);
    const bytes = Buffer.concat((await opened.body.toArray()) as Buffer[]);
    expect([bytes.subarray(0, 4).toString(), bytes.subarray(8, 12).toString(), bytes.readUInt16LE(22)]).toEqual([
      "RIFF",
      "WAVE",
      2,
    ]);
    expect(bytes.length).toBeGreaterThan(TALKED_WAV_BYTES);
    expect(opened.content_type).toMatch(/^audio\//);
    if (opened.bytes !== null) expect(opened.bytes).toBe(bytes.length);
    await expect(
      carrier.openRecording({ ...driver.recording_url(9), seconds: null, channels: null }),
    ).rejects.toMatchObject({ type: "RECORDING_NOT_FOUND" });
    await expect(
      carrier.openRecording({ recording_id: told.recording_id, url: null, seconds: null, channels: null }),
    ).rejects.toMatchObject({ type: "RECORDING_NOT_FOUND" });
    proved.set("recording, both sides apart", RECORDING[recording]);
  });
  test("a recording whose callback was lost is found by asking", async () => {
    const { carrier, driver, callback_base } = b();
    const { recording } = carrier.capabilities;
    if (recording === "none") return;
    const request = b().request("05", { record: true });
    const { names } = await b().dial(request, { holds: true });
    await b().step(request.call_ref, "answered");
    if (recording === "command")
      await carrier.record(namesOf(names), { callback_base, call_ref: request.call_ref, limit_seconds: 660 });
    expect(await carrier.recordingsOf(namesOf(names))).toEqual([]); // not finished
    const known = namesOf(names);
    await b().fault("lose_callbacks", { to: request.to });
    await until("the call to have lasted", async () =>
      Date.now() - (b().agent.began.get(request.call_ref) ?? Infinity) >= TALKED_MS ? true : undefined,
    );
    await carrier.hangUp(known, true);
    const [found, ...more] = await until(
      "the recording",
      async () => {
        const all = await carrier.recordingsOf(known);
        return all.length > 0 ? all : undefined;
      },
      TOLD_WITHIN_MS,
    );
    expect([found, more]).toEqual([
      {
        recording_id: expect.any(String),
        url: expect.stringMatching(/^https?:/),
        seconds: expect.any(Number),
        channels: found?.channels === null ? null : 2,
      },
      [],
    ]);
    expect(b().received.filter((r) => r.raw.ref === request.call_ref && r.translated?.recording)).toEqual([]);
    const opened = await carrier.openRecording(found ?? { recording_id: "", url: null, seconds: null, channels: null });
    const bytes = Buffer.concat((await opened.body.toArray()) as Buffer[]);
    expect(bytes.subarray(0, 4).toString()).toBe("RIFF");
    expect(await carrier.recordingsOf(driver.names(6))).toEqual([]);
    const { public_http_url } = b();
    const nowhere = driver.adapter({
      api_base: "http://127.0.0.1:1",
      public_http_url,
      public_ws_url: public_http_url.replace("http", "ws"),
    }); // port 1: nobody listens
    await expect(nowhere.recordingsOf(known)).rejects.toMatchObject({ type: "DEPENDENCY_DOWN" });
  });
  test("a recording at a stranger's address is not asked for", async () => {
    const { carrier, driver } = b();
    if (carrier.capabilities.recording === "none") return;
    const { recording_id, elsewhere } = driver.recording_url(8);
    const from = b().asked.length;
    await expect(
      carrier.openRecording({ recording_id, url: elsewhere, seconds: null, channels: null }),
    ).rejects.toMatchObject({ type: "RECORDING_NOT_FOUND" });
    expect(
      b()
        .asked.slice(from)
        .filter((a) => JSON.stringify(a).includes("stranger")),
    ).toEqual([]);
  });

  test("the carrier shows a call while it lives and after; the price is told", async () => {
    const { carrier, driver } = b();
    const request = b().request("05");
    const { names } = await b().dial(request, { holds: true });
    await b().step(request.call_ref, "answered");
    expect(await carrier.fetch(namesOf(names))).toMatchObject({ call_id: names.call_id, live: true });
    await carrier.hangUp(namesOf(names), true);
    await ended(request.call_ref);
    const seen = await carrier.fetch(namesOf(names));
    expect(seen?.live).toBe(false);
    expect(seen?.progress.at(-1)).toMatchObject({ type: "ended", end: "completed" });
    const price = async () =>
      b().received.find((r) => r.raw.ref === request.call_ref && r.translated?.cost)?.translated?.cost ??
      (await carrier.fetch(namesOf(names)))?.cost ??
      undefined;
    const cost = await until("the price", price, TOLD_WITHIN_MS);
    expect(cost).toEqual({ amount: expect.any(Number), currency: "USD" });
    expect(cost.amount).toBeGreaterThan(0);
    const told = b().received.some((r) => r.raw.ref === request.call_ref && r.translated?.cost);
    proved.set("price of a call", told ? "told by a callback" : "asked for after the call");
    expect(await carrier.fetch(driver.names(7))).toBeNull();
  });
}
