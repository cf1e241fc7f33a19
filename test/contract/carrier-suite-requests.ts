import { expect, test } from "@jest/globals";
import type { CallNames, Golden } from "./carrier-driver.ts";
import type { Suite } from "./carrier.suite.ts";

const NOWHERE = "http://127.0.0.1:1"; // port 1: nobody listens
const RETRY_AFTER_SECONDS = 7;

/** Our requests as the carrier must see them, and what its answers mean. */
export function requestTests({ b, proved }: Suite): void {
  const since = () => b().asked.length;
  const askedFrom = (from: number): Golden[] => b().asked.slice(from);

  test.each([
    { record: false, await_beep: false },
    { record: true, await_beep: true },
  ])("a dial, %j, is one request, byte for byte", async (over) => {
    const request = b().request("07", over);
    const from = since();
    const { kind, names } = await b().dial(request);
    expect([kind, askedFrom(from)]).toEqual(["placed", [b().driver.golden.dial(request)]]);
    expect(names.call_id).not.toBe("");
    await b().carrier.hangUp(names, false);
  });

  test("a dial whose talk carries sound is one request, byte for byte", async () => {
    const { media } = b().request("07");
    const request = b().request("07", { media: { ...media, kind: "audio" } });
    const from = since();
    const { kind, names } = await b().dial(request);
    expect([kind, askedFrom(from)]).toEqual(["placed", [b().driver.golden.dial(request)]]);
    await b().carrier.hangUp(names, false);
  });

  test("an answered call is transferred, sent keys, recorded and ended as the carrier wants it", async () => {
    const { driver, carrier, callback_base } = b();
    const request = b().request("05");
    const { names: placed } = await b().dial(request, { holds: true });
    await b().step(request.call_ref, "answered");
    const names: CallNames = { ...placed, leg_id: b().names(request.call_ref).leg_id };
    const expectAsked = async (work: () => Promise<unknown>, golden: Golden[]): Promise<void> => {
      const from = since();
      await work();
      expect(askedFrom(from)).toEqual(golden);
    };
    const keys = driver.golden.digits(names, "12#");
    if (keys) await expectAsked(() => carrier.sendDigits(names, "12#"), [keys]);
    else await expect(carrier.sendDigits(names, "12#")).rejects.toMatchObject({ type: "NOT_AVAILABLE" });
    const how = { callback_base, call_ref: request.call_ref, limit_seconds: 660 };
    const recording = driver.golden.record(names, how);
    if (recording) await expectAsked(() => carrier.record(names, how), [recording]);
    else await expect(carrier.record(names, how)).rejects.toMatchObject({ type: "NOT_AVAILABLE" });
    const to = "+14155550701";
    await expectAsked(
      () => carrier.transfer(names, to, request.from, { base: callback_base, call_ref: request.call_ref }),
      [driver.golden.transfer(names, to, request.from, callback_base)],
    );
    await b().step(request.call_ref, "ended");
    expect(await b().ledger("dial", request.to)).toEqual([
      expect.objectContaining({ number: to, status: "completed" }),
    ]);
    proved.set("transfer to another number", "yes");
  });

  test("a call is ended before and after the answer; one that is over, or never was, is no fault", async () => {
    const { carrier, driver } = b();
    const ringing = b().request("07");
    const { names } = await b().dial(ringing);
    await b().rings(ringing);
    const known: CallNames = { ...names, leg_id: b().names(ringing.call_ref).leg_id };
    let from = since();
    await carrier.hangUp(known, false);
    expect(askedFrom(from)).toEqual(driver.golden.hangUp(known, false));
    expect((await b().step(ringing.call_ref, "ended")).end).toBe("canceled");
    const talking = b().request("05");
    const { names: placed } = await b().dial(talking, { holds: true });
    await b().step(talking.call_ref, "answered");
    const answered: CallNames = { ...placed, leg_id: b().names(talking.call_ref).leg_id };
    from = since();
    await carrier.hangUp(answered, true);
    expect(askedFrom(from)).toEqual(driver.golden.hangUp(answered, true));
    expect((await b().step(talking.call_ref, "ended")).end).toBe("completed");
    for (const over of [known, answered, { call_ref: "x", ...driver.names(1) }])
      await carrier.hangUp(over, over === answered);
  });

  test("a carrier that can't be reached: nothing was placed; the rest is asked again later", async () => {
    const { public_http_url } = b();
    const nowhere = b().driver.adapter({
      api_base: NOWHERE,
      public_http_url,
      public_ws_url: public_http_url.replace("http", "ws"),
    });
    expect(await nowhere.dial(b().request("01"))).toMatchObject({ kind: "not_placed", retry_after_seconds: null });
    const names = b().driver.names(2);
    for (const work of [
      nowhere.hangUp(names, true),
      nowhere.fetch(names),
      nowhere.find({ call_ref: "x.1", to: "+14155550101", from: "+14155550999", since: new Date(), until: new Date() }),
    ]) {
      await expect(work).rejects.toMatchObject({ type: "DEPENDENCY_DOWN" });
    }
  });
  test("wrong credentials are no verdict on the call: nothing was placed, and they are named", async () => {
    const { driver, public_http_url } = b();
    const wrong = driver.adapter(
      { api_base: driver.simulator.url, public_http_url, public_ws_url: public_http_url.replace("http", "ws") },
      "wrong",
    );
    const request = b().request("01");
    expect(await wrong.dial(request)).toEqual({
      kind: "not_placed",
      retry_after_seconds: null,
      reason: "the carrier refuses the credentials (HTTP 401)",
      credentials_refused: true,
    });
    expect(await b().ledger("placed", request.to)).toEqual([]);
    await expect(wrong.fetch(driver.names(3))).rejects.toMatchObject({ type: "DEPENDENCY_DOWN" });
  });
  test("a number the carrier refuses is its final no", async () => {
    const request = b().request("10");
    const { names: _names, ...answer } = await b().dial(request);
    expect(answer).toMatchObject({ kind: "refused", invalid_number: true, carrier_code: expect.any(String) });
    expect(JSON.stringify(answer)).not.toContain(request.to.slice(1));
  });
  test("too many calls: nothing was placed, and Retry-After is passed on", async () => {
    const request = b().request("01");
    await b().fault("rate_limit", { to: request.to, seconds: RETRY_AFTER_SECONDS });
    expect(await b().carrier.dial(request)).toMatchObject({
      kind: "not_placed",
      retry_after_seconds: RETRY_AFTER_SECONDS,
    });
    expect(await b().ledger("placed", request.to)).toEqual([]);
  });

  test.each(["drop_reply", "error_after_placing"])(
    "a dial whose answer is lost (%s) is asked once, found again, and rings once",
    async (fault) => {
      const [request, other] = [b().request("07"), b().request("07")];
      const sought = { call_ref: request.call_ref, to: request.to, from: request.from, since: new Date() };
      await b().fault(fault, { to: request.to });
      const from = since();
      expect(await b().carrier.dial(request)).toMatchObject({ kind: "uncertain" });
      expect(askedFrom(from)).toHaveLength(1);
      const { names: others } = await b().dial(other);
      await b().rings(request);
      const found = await b().carrier.find({ ...sought, until: new Date() });
      expect(found).toEqual([expect.objectContaining({ live: true })]);
      const names = { ...b().names(request.call_ref) };
      expect(found[0]?.call_id).toBe(names.call_id);
      const hour = 3_600_000;
      const earlier = {
        ...sought,
        call_ref: `${sought.call_ref}1`,
        to: "+14155550188",
        since: new Date(Date.now() - 2 * hour),
        until: new Date(Date.now() - hour),
      };
      expect(await b().carrier.find(earlier)).toEqual([]);
      await Promise.all([b().carrier.hangUp(names, false), b().carrier.hangUp(others, false)]);
      await b().step(request.call_ref, "ended");
      expect(await b().ledger("ring", request.to)).toHaveLength(1);
      proved.set("lost dial reply found again", "yes");
    },
  );
}
