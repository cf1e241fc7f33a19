import { randomUUID } from "node:crypto";
import { expect, test } from "@jest/globals";
import type { InboundCall, InboundDecision } from "../../services/dialer/carriers/port.ts";
import { until } from "../support/stage.ts";
import type { Suite } from "./carrier.suite.ts";

const OURS = "+14155550999";
const OVER_WITHIN_MS = 8000;

/** People call one of our numbers. */
export function inboundTests({ b, proved }: Suite): void {
  let people = 0;
  const caller = (ending: string): string => {
    people += 1;
    return `+1628555${String(10 + people)}${ending}`;
  };
  const calls = async (
    from: string,
    decide: (call: InboundCall) => InboundDecision,
    more: object = {},
  ): Promise<InboundCall> => {
    b().decide = decide;
    const before = b().inbound.length;
    await b().callIn(from, OURS, more);
    return until("the call to come in", () => b().inbound[before], OVER_WITHIN_MS);
  };
  const over = (from: string) => until("the call to be over", async () => (await hangups(from))[0], OVER_WITHIN_MS);
  const hangups = async (from: string) => (await b().ledger("hangup", OURS)).filter((e) => e.from === from);
  const heard = async (from: string) =>
    (await b().ledger("heard", OURS))
      .filter((e) => e.from === from)
      .map((e) => String(e["text"]))
      .join(" ");

  test("a call is taken: the same talk as with a call of ours", async () => {
    const from = caller("01");
    const call_ref = `${randomUUID()}.1`;
    const recorded = b().carrier.capabilities.recording === "dial"; // else the dialer asks for it when the talk has begun
    const media = {
      kind: "text" as const,
      url: `${b().public_http_url.replace("http", "ws")}/media/PROVIDER_ONE/${call_ref}`,
      token: call_ref,
      language: "en-US",
      voice: null,
    };
    const connect = (): InboundDecision => ({
      kind: "connect",
      call_ref,
      media,
      callback_base: b().callback_base,
      record: recorded,
      talk_seconds: 600,
      greeting:
        b().carrier.capabilities.speech === "turns"
          ? b().agent.onTurn(call_ref, { token: call_ref, heard: null, digits: null })
          : null,
    });
    const call = await calls(from, connect);
    expect(call).toMatchObject({ from, to: OURS, call_id: expect.any(String) });
    await over(from);
    expect(b().agent.heard.filter((h) => h.ref === call_ref)).not.toEqual([]);
    expect(await heard(from)).toMatch(/may i confirm.*goodbye/is);
    const told = () =>
      b().received.some(
        (r) => r.translated?.call_id === call.call_id && r.translated.progress.some((p) => p.type === "ended"),
      );
    await until("the end to be told", () => told() || undefined, OVER_WITHIN_MS);
    if (recorded)
      await until(
        "the recording to be told",
        () => b().received.find((r) => r.raw.ref === call_ref && r.translated?.recording?.url),
        OVER_WITHIN_MS,
      );
  });

  test("a call is taken by a talk that carries sound: the carrier is told its address, and nothing of text", async () => {
    const call_ref = `${randomUUID()}.1`;
    const media = {
      kind: "audio" as const,
      url: `${b().public_http_url.replace("http", "ws")}/media/PROVIDER_ONE/${call_ref}`,
      token: "token-of-a-text-talk",
      language: "en-US",
      voice: "a-voice",
    };
    const before = b().asked.length;
    const { call_id, leg_id } = b().driver.names(4);
    const document = await b().carrier.settleInbound(
      { call_id, leg_id, from: caller("01"), to: OURS },
      {
        kind: "connect",
        call_ref,
        media,
        callback_base: b().callback_base,
        record: false,
        talk_seconds: 600,
        greeting: null,
      },
    );
    const told = document.body + JSON.stringify(b().asked.slice(before));
    expect(told).toContain(media.url);
    for (const text of [media.token, media.voice, media.language]) expect(told).not.toContain(text);
    proved.set("media stream (audio)", "µ-law, both ways");
  });

  test("a call is redirected", async () => {
    const from = caller("01");
    await calls(from, () => ({ kind: "redirect", to: "+14155550777" }));
    await over(from);
    expect((await b().ledger("dial", OURS)).filter((e) => e.from === from)).toEqual([
      expect.objectContaining({ number: "+14155550777" }),
    ]);
  });

  test("a call is rejected with a message, and without a word", async () => {
    const [told, silent] = [caller("01"), caller("01")];
    await calls(told, () => ({ kind: "reject", message: "We are closed. Please call tomorrow.", language: "en-US" }));
    await over(told);
    expect(await heard(told)).toContain("We are closed. Please call tomorrow.");
    await calls(silent, () => ({ kind: "reject", message: null, language: "en-US" }));
    await over(silent);
    expect(await heard(silent)).toBe("");
    expect((await b().ledger("answer", OURS)).filter((e) => e.from === silent)).toEqual([]);
    proved.set("inbound: taken, redirected, rejected", "yes");
  });

  test("a number that is withheld is none", async () => {
    const from = caller("01");
    expect(
      (await calls(from, () => ({ kind: "reject", message: null, language: "en-US" }), { withheld: true })).from,
    ).toBeNull();
    await over(from);
  });
}
