import { randomUUID } from "node:crypto";
import { joinAsClient, upgradeStatus } from "../../local/harness/sessions/session-client.ts";
import type { SessionClient } from "../../local/harness/sessions/session-port.ts";
import { until } from "../../local/harness/stage.ts";
import { TALKS } from "../fixtures/product/audio-templates.ts";
import { agentOf, alike, customerOf, type Lead } from "../fixtures/product/audio-transcripts.ts";
import { QUESTION, TEST_MS, type AudioScenes } from "./fixtures/audio-scenes.ts";

const POLL_MS = 100;

/** Sessions that a client joins over a WebSocket, held by the same pipelines as calls. */
export function browserSessionSuite(audio: AudioScenes): void {
  /** A session lead of a template of its own. */
  async function pushed(
    engine: "cascade" | "realtime" | "relay",
    execution_mode: "RTC" | "RTC_TEST" | "RTC_STREAM" = "RTC",
  ): Promise<string> {
    const { reseller_id, merchant_id } = audio.product.sample;
    const template_id = await audio.stage.campaign(`session ${randomUUID()}`, "PROVIDER_ONE", TALKS.short, {
      template: { engine },
    });
    const { lead_call_tracker_id } = await audio.product.admin.ask("POST", "/leads", {
      body: {
        request_id: randomUUID(),
        template_id,
        reseller_id,
        merchant_id,
        execution_mode,
        reporting_webhook_url: audio.product.sink.url,
        payload: {},
      },
    });
    return lead_call_tracker_id;
  }
  const join = (lead_id: string) => audio.product.admin.ask("POST", "/leads/{lead_id}/join", { path: { lead_id } });
  const leadOf = (lead_id: string) => audio.product.admin.ask("GET", "/leads/{lead_id}", { path: { lead_id } });
  const finished = (lead_id: string): Promise<Lead> =>
    until(
      "the lead to finish",
      async () => {
        const lead = await leadOf(lead_id);
        return lead.status === "FINISHED" ? lead : undefined;
      },
      TEST_MS,
      POLL_MS,
    );
  const asked = (client: SessionClient): Promise<true> =>
    until("the question", () => client.heard().includes(QUESTION.slice(-6)) || undefined, TEST_MS, POLL_MS);

  /** A conversation, and what both ends recorded of it. */
  async function held(engine: "cascade" | "realtime") {
    const lead_id = await pushed(engine);
    const access = await join(lead_id);
    const client = await joinAsClient(access);
    const again = await upgradeStatus(access);
    await asked(client);
    client.say("Yes, please.");
    const lead = await finished(lead_id);
    await client.closed;
    const recorded = await audio.stage.recording(access.room_name);
    await until("the report", () => audio.product.sink.reports.get(lead_id), TEST_MS, POLL_MS);
    return { access, client, again, lead, recorded };
  }
  /** A conversation whose page is loaded again, and then closed for good. The text relay's template speaks by the deployment's own models. */
  async function reloaded() {
    const lead_id = await pushed("relay", "RTC_TEST");
    const first = await joinAsClient(await join(lead_id));
    await asked(first);
    const again = await join(lead_id);
    first.close();
    const second = await joinAsClient(again);
    const hello = await until("hello", () => second.messages[0]);
    second.say("What?");
    const isTold = (): true | undefined =>
      second.messages.some((m) => JSON.stringify(m).includes('"user"')) || undefined;
    await until("the words of the second page", isTold, TEST_MS, POLL_MS);
    second.close();
    return { hello, lead: await finished(lead_id) };
  }
  /** A session that its client leads, spoken in by both doors. */
  async function streamed() {
    const lead_id = await pushed("realtime", "RTC_STREAM");
    const client = await joinAsClient(await join(lead_id));
    const speech = () => client.messages.filter(({ type }) => type === "speech");
    const isOver = (id: string) => () =>
      speech().some((m) => m["utterance_id"] === id && ["finished", "interrupted"].includes(String(m["status"]))) ||
      undefined;
    await until("the beginning", () => client.messages.length > 0 || undefined, TEST_MS, POLL_MS);
    const speak = (text: string, utterance_id: string) =>
      audio.product.admin.ask("POST", "/leads/{lead_id}/tts-speak", {
        path: { lead_id },
        body: { text, utterance_id },
      });
    const accepted = await until(
      "the session to be there",
      () => speak("Good morning.", "one").catch(() => undefined),
      TEST_MS,
      POLL_MS,
    );
    client.send({ type: "speak", text: "How are you?", utterance_id: "two" });
    await until("both to be heard", isOver("two"), TEST_MS, POLL_MS);
    const heard = client.heard();
    client.say("Fine, thanks.");
    const isTold = (): true | undefined =>
      client.messages.some((m) => JSON.stringify(m).includes('"user"')) || undefined;
    await until("the answer", isTold, TEST_MS, POLL_MS);
    await speak("This is a long sentence that nobody wants to hear to its very end.", "three");
    await until(
      "it to be heard",
      () => speech().some((m) => m["utterance_id"] === "three" && m["status"] === "started") || undefined,
      TEST_MS,
      POLL_MS,
    );
    client.send({ type: "speak", text: "Stop.", utterance_id: "four", interrupt: true });
    await until("the last", isOver("four"), TEST_MS, POLL_MS);
    client.send({ type: "leave" });
    return { accepted, heard, told: speech(), lead: await finished(lead_id) };
  }
  // all at the same time: a conversation takes seconds
  let running: {
    cascade: ReturnType<typeof held>;
    realtime: ReturnType<typeof held>;
    reload: ReturnType<typeof reloaded>;
    stream: ReturnType<typeof streamed>;
  };
  beforeAll(async () => {
    running = { cascade: held("cascade"), realtime: held("realtime"), reload: reloaded(), stream: streamed() };
    await Promise.allSettled(Object.values(running));
  }, TEST_MS);

  test.each(["cascade", "realtime"] as const)(
    "%s: both hear each other, the page sees the words; transcript, outcome, report and recording are there",
    async (engine) => {
      const { access, client, again, lead, recorded } = await running[engine];
      expect(again).toBe(401); // its token was used
      expect([lead.outcome, lead.metaData["node_traversal"], lead.call_id]).toEqual([
        "confirmed",
        ["ask", "done"],
        access.room_name,
      ]);
      expect(alike(customerOf(lead), "Yes, please.")).toBe(true);
      expect(client.messages.map(({ type }) => type)).toEqual(
        expect.arrayContaining(["hello", "transcript", "node", "end"]),
      );
      expect([alike(recorded.customer, "Yes, please."), alike(recorded.agent, client.heard())]).toEqual([true, true]);
      expect(client.firstSoundMs()).toBeLessThan(3000);
    },
  );

  test("a page that is loaded again goes on; where nobody comes back the session ends and the lead says who left", async () => {
    const { hello, lead } = await running.reload;
    expect(hello).toMatchObject({ resumed: true });
    expect([lead.outcome, lead.metaData["call_ended_by"]]).toEqual(["customer_hangup", "customer"]);
  });

  test("its client leads an RTC_STREAM session: what it has spoken, what was heard of it, and what was said", async () => {
    const { accepted, heard, told, lead } = await running.stream;
    expect(accepted).toMatchObject({ status: "queued", utterance_id: "one" });
    expect(alike(heard, "Good morning. How are you?")).toBe(true);
    const statuses = (id: string) => told.filter((m) => m["utterance_id"] === id).map((m) => m["status"]);
    expect(["one", "two", "three", "four"].map(statuses)).toEqual([
      ["queued", "started", "finished"],
      ["queued", "started", "finished"],
      ["queued", "started", "interrupted"],
      ["queued", "started", "finished"],
    ]);
    expect([lead.metaData["node_traversal"], lead.metaData["call_ended_by"]]).toEqual([[], "customer"]);
    expect(alike(customerOf(lead), "Fine, thanks.")).toBe(true);
    expect(agentOf(lead)).not.toContain("very end");
  });
}
