import { randomUUID } from "node:crypto";
import { expect, test } from "@jest/globals";
import { Query } from "mingo";
import { intent, progress, type Move } from "../../services/dialer/call-machine.ts";
import type { CallDoc } from "../../services/dialer/calls.model.ts";
import type { CallProgress, SignedRequest } from "../../services/dialer/carriers/port.ts";
import type { CallNames, Sent, Unsigned } from "./carrier-driver.ts";
import type { Suite } from "./carrier.suite.ts";

const HOUR_MS = 3_600_000;
const NOW = new Date("2026-11-21T10:00:00Z");

/** A move as the database makes it: whole, or not at all. */
function move(call: CallDoc, { filter, update }: Move): CallDoc {
  if (!new Query(filter).test(call as unknown as Record<string, unknown>)) return call;
  const { $set = {}, $unset = {} } = update;
  return Object.fromEntries(
    Object.entries({ ...call, ...$set }).filter(([key]) => !(key in $unset)),
  ) as unknown as CallDoc;
}

const dialled = (ref: string): CallDoc =>
  intent(
    {
      lead_id: ref.split(".")[0] ?? "",
      claim_no: 1,
      reseller_id: "r",
      merchant_id: null,
      template_id: randomUUID(),
      template_version: 1,
      execution_mode: "TELEPHONY",
      to: "+14155550101",
      from: "+14155550999",
      number_id: randomUUID(),
      provider: "PROVIDER_ONE",
      payload: {},
      dial_until: null,
      record: true,
      voicemail_action: "hangup",
      enforce_blacklist: true,
      max_call_seconds: 60,
      rate_limit: null,
      pre_checks: [],
      pre_check_defers: {},
    },
    "node",
    NOW,
    NOW,
  );

const orders = <T>(items: readonly T[]): T[][] =>
  items.length < 2
    ? [[...items]]
    : items.flatMap((x, i) => orders(items.filter((_y, j) => j !== i)).map((rest) => [x, ...rest]));
const definite = <T>(items: readonly (T | null)[]): T[] => items.flatMap((i) => (i === null ? [] : [i]));

/** What the carrier tells, signed and unsigned, in any order and any number. */
export function callbackTests({ b, proved }: Suite): void {
  let count = 100;
  const newCall = (): CallNames => ({ call_ref: `${randomUUID()}.1`, ...b().driver.names(count++) });
  const sentOf = (call: CallNames, u: Unsigned): Sent => ({
    method: "POST",
    path: `/carriers/PROVIDER_ONE/${u.kind}/${call.call_ref}${u.query ? `?${u.query}` : ""}`,
    content_type: u.content_type,
    body: u.body,
  });
  const signed = (call: CallNames, u: Unsigned, now = new Date(), key?: "wrong"): SignedRequest =>
    b().driver.sign(sentOf(call, u), b().public_http_url, now, key);
  const tell = (call: CallNames, u: Unsigned): CallProgress[] => {
    const request = signed(call, u);
    expect(b().carrier.verify(request, new Date())).toBe(true);
    const translated = b().carrier.translate(u.kind, request);
    expect(translated.call_id).toBe(call.call_id);
    return translated.progress;
  };
  const completed = (): string => Object.entries(b().driver.endings).find(([, end]) => end === "completed")?.[0] ?? "";

  test("every word for an end has ours", () => {
    const { driver } = b();
    const found = Object.keys(driver.endings).map((word) => {
      const call = newCall();
      const last = tell(call, driver.ended(word, call)).at(-1);
      return [word, last?.type === "ended" ? last.end : last?.type];
    });
    expect(Object.fromEntries(found)).toEqual(driver.endings);
    expect(found.length).toBeGreaterThan(3);
  });

  test("whatever the order and the number of the steps, the call ends the same", () => {
    const { driver } = b();
    const call = newCall();
    const told = definite([
      driver.told("queued", call),
      driver.told("ringing", call),
      driver.told("answered", call),
      driver.ended(completed(), call),
    ]).map((u) => tell(call, u));
    expect(told.length).toBeGreaterThan(2);
    for (const sequence of orders(told)) {
      let doc = dialled(call.call_ref);
      for (const steps of [...sequence, ...sequence.toReversed()])
        for (const step of steps) doc = move(doc, progress(call.call_ref, step, NOW, NOW));
      expect(doc).toMatchObject({ state: "ENDED", ended: "completed", carrier_call_id: call.call_id });
    }
  });

  test("another call's steps change nothing", () => {
    const [call, other] = [newCall(), newCall()];
    const steps = tell(call, b().driver.ended(completed(), call));
    let doc = dialled(call.call_ref);
    for (const u of definite([b().driver.told("ringing", call), b().driver.told("answered", call)]))
      for (const step of tell(call, u)) doc = move(doc, progress(call.call_ref, step, NOW, NOW));
    const strange = tell(
      { ...other, call_ref: call.call_ref },
      b().driver.ended(completed(), { ...other, call_ref: call.call_ref }),
    );
    for (const step of strange) expect(move(doc, progress(call.call_ref, step, NOW, NOW))).toBe(doc);
    for (const step of steps) doc = move(doc, progress(call.call_ref, step, NOW, NOW));
    expect(doc.state).toBe("ENDED");
  });

  test("a machine is told from a person, and its beep where the carrier reports it", () => {
    const { driver, carrier } = b();
    const call = newCall();
    const types = (step: "human" | "machine" | "beep"): string[] | null => {
      const u = driver.told(step, call);
      return u && tell(call, u).map((p) => (p.type === "machine" ? p.verdict : p.type));
    };
    expect(types("machine")).toEqual(carrier.capabilities.machine_detection ? ["machine"] : null);
    expect(types("beep") ?? []).toEqual(carrier.capabilities.beep ? expect.arrayContaining(["beep"]) : []);
    expect(types("human") ?? ["human"]).toEqual(["human"]);
  });

  test("nothing forged passes: no signature, another account's, a byte, a path, a query", () => {
    const { driver, carrier } = b();
    const call = newCall();
    const u = driver.ended(completed(), call);
    const good = signed(call, u);
    const now = new Date();
    expect(carrier.verify(good, now)).toBe(true);
    const bare = Object.fromEntries(Object.entries(good.headers).filter(([name]) => name !== driver.signature_header));
    const forged: [string, SignedRequest][] = [
      ["unsigned", { ...good, headers: bare }],
      ["an empty signature", { ...good, headers: { ...bare, [driver.signature_header]: "" } }],
      ["nonsense", { ...good, headers: { ...bare, [driver.signature_header]: "AAAA" } }],
      ["another account's key", signed(call, u, now, "wrong")],
      ["a byte", { ...good, body: `${good.body.slice(0, -1)}~` }],
      ["no body", { ...good, body: "" }],
    ];
    // a carrier that signs time and body alone says in the body what it is about, and the address must agree with it
    forged.push(["another path", { ...good, path: good.path.replace(".1", ".2") }]);
    if (!driver.signs_time)
      forged.push(["a query", { ...good, path: `${good.path}${good.path.includes("?") ? "&" : "?"}a=1` }]);
    expect(forged.filter(([, request]) => carrier.verify(request, now)).map(([what]) => what)).toEqual([]);
    proved.set("callbacks signed", driver.signs_time ? "yes, with the time" : "yes");
  });

  test("a callback that is sent again is known again; an old one is refused where the time is signed", () => {
    const { driver, carrier } = b();
    const call = newCall();
    const u = driver.ended(completed(), call);
    const request = signed(call, u);
    expect(carrier.translate(u.kind, request)).toEqual(carrier.translate(u.kind, request));
    const old = signed(call, u, new Date(Date.now() - HOUR_MS));
    expect(carrier.verify(old, new Date())).toBe(!driver.signs_time);
    expect(carrier.verify(request, new Date(Date.now() + HOUR_MS))).toBe(!driver.signs_time);
  });

  test("what is no callback of this carrier is refused by name", () => {
    const call = newCall();
    for (const body of ["", "{}", "nonsense", "[]", "null"]) {
      const { kind, content_type } = b().driver.ended(completed(), call);
      expect(() => b().carrier.translate(kind, signed(call, { kind, content_type, body }))).toThrow(
        expect.objectContaining({ type: "VALIDATION_FAILED" }),
      );
    }
  });

  test("a recording's callback names it and its address; one that failed has none", () => {
    const { driver, carrier } = b();
    if (carrier.capabilities.recording === "none") return;
    const call = newCall();
    const { recording_id, url } = driver.recording_url(1);
    const read = (at: string | null) => {
      const u = driver.recorded(call, { recording_id, url: at, seconds: 12 });
      return u && carrier.translate(u.kind, signed(call, u)).recording;
    };
    expect(read(url)).toMatchObject({ recording_id, url, seconds: 12 });
    const failed = read(null);
    if (failed !== null) expect(failed.url).toBeNull();
  });
}
