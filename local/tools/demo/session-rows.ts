import pLimit from "p-limit";
import { setTimeout as wait } from "node:timers/promises";
import { joinAsClient } from "../../harness/sessions/session-client.ts";
import type { SessionClient } from "../../harness/sessions/session-port.ts";
import { speechMs } from "../../speech/modem.ts";
import type { Client } from "../api-client.ts";
import type { Sample } from "../sample/seed.ts";
import type { Row, RowSession } from "./leads-csv.ts";

/** Nobody says anything for so long: it is the client's turn. */
const QUIET_MS = 1200;
const POLL_MS = 50;
const PATIENCE_MS = 45_000;
const JOIN_SECONDS = 10;
const MOST_TRIES = 3;
/** Clients that speak at once: their sound is coded on this machine, beside the agent's. */
const AT_ONCE = 4;
const PAYLOAD = { customer_name: "Ada", order_id: "NW-10320", amount: "82.25", delivery_date: "Monday, June 9" };

async function until(what: string, holds: () => boolean): Promise<void> {
  for (const end = performance.now() + PATIENCE_MS; !holds(); await wait(POLL_MS))
    if (performance.now() > end) throw new Error(`waited in vain for ${what}`);
}

/** Waits until the agent has spoken, and has fallen silent, or the session is over. */
async function agentDone(client: SessionClient, before = ""): Promise<void> {
  let [heard, since] = [before, performance.now()];
  let isOver = false;
  void client.closed.then(() => (isOver = true));
  await until("the agent", () => {
    if (client.heard() !== heard) [heard, since] = [client.heard(), performance.now()];
    return isOver || (heard !== before && performance.now() - since > QUIET_MS);
  });
}

const enter = async (client: Client, lead_id: string): Promise<SessionClient> =>
  joinAsClient(await client.ask("POST", "/leads/{lead_id}/join", { path: { lead_id } }));

const wasNotUnderstood = ({ messages }: SessionClient): boolean =>
  JSON.stringify(messages.findLast(({ type }) => type === "transcript") ?? null).includes("did not understand");

/** Says one sentence after the other, each once the agent has fallen silent; again where the agent did not understand, for the way through a room may cost a letter. */
async function saying(session: SessionClient, sentences: readonly string[]): Promise<void> {
  let before = "";
  for (const sentence of sentences)
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      await agentDone(session, before);
      if (tries > 0 && !wasNotUnderstood(session)) break;
      session.say(sentence);
      // the last words of the agent may come late
      await wait(speechMs(sentence));
      before = session.heard();
    }
}

const talking =
  (...sentences: string[]): RowSession["hold"] =>
  async (client, lead_id) =>
    saying(await enter(client, lead_id), sentences);

async function pressing(client: Client, lead_id: string): Promise<void> {
  const session = await enter(client, lead_id);
  await agentDone(session);
  session.send({ type: "digit", name: "1" });
}

async function leaving(client: Client, lead_id: string): Promise<void> {
  const session = await enter(client, lead_id);
  await until("the agent", () => session.heard() !== "");
  session.send({ type: "leave" });
}

async function reloading(client: Client, lead_id: string): Promise<void> {
  const first = await enter(client, lead_id);
  await agentDone(first);
  first.close();
  const second = await enter(client, lead_id);
  await until("the session", () => second.messages.some((m) => m["type"] === "hello"));
  second.say("Yes, please confirm it.");
}

async function leading(client: Client, lead_id: string): Promise<void> {
  const session = await enter(client, lead_id);
  await until("the session", () => session.messages.some((m) => m["type"] === "hello"));
  const speak = { path: { lead_id }, body: { text: "Good morning.", utterance_id: "one" } };
  // the conversation begins once its client is there
  for (let tries = 0; tries < PATIENCE_MS / QUIET_MS; tries++) {
    if (await client.ask("POST", "/leads/{lead_id}/tts-speak", speak).catch(() => null)) break;
    await wait(POLL_MS);
  }
  session.send({ type: "speak", text: "How are you?", utterance_id: "two" });
  await until("both texts", () => session.heard().includes("you?"));
  session.send({ type: "leave" });
}

/** A template like the first of the sample whose sessions wait for `JOIN_SECONDS`. */
async function hastyTemplate(admin: Client, sample: Sample): Promise<string> {
  const { reseller_id, merchant_id } = sample;
  const limits = {
    max_call_seconds: 60,
    idle_seconds: 5,
    max_age_seconds: 3600,
    rtc_join_timeout_seconds: JOIN_SECONDS,
  };
  const { id } = await admin.ask("POST", "/templates", {
    body: {
      reseller_id,
      merchant_id,
      name: "hasty",
      is_active: true,
      initial_node: "ask",
      nodes: [{ name: "ask", say: "Good day.", on_enter: [{ type: "end_call" }] }],
      limits,
    },
  });
  await admin.ask("POST", "/configurations", {
    body: {
      template_id: id,
      initial_offset: 0,
      retry_offset: 1,
      call_start_time: "00:00",
      call_end_time: "00:00",
      max_retry: 0,
      calling_provider: "PROVIDER_ONE",
    },
  });
  return id;
}

/** Ten sessions, and how each must end. */
export async function sessionRows(admin: Client, sample: Sample): Promise<Row[]> {
  const hasty = await hastyTemplate(admin, sample);
  const sessions: [name: string, expected: string, session: RowSession][] = [
    ["confirms", "confirmed", { mode: "RTC", hold: talking("Yes, please confirm it.") }],
    ["declines", "declined", { mode: "RTC", hold: talking("No, please cancel it.") }],
    [
      "moves",
      "rescheduled",
      { mode: "RTC", hold: talking("That doesn't suit me, can we move it?", "Friday, please.") },
    ],
    ["stranger", "wrong_person", { mode: "RTC", hold: talking("You have the wrong number.") }],
    ["presses 1", "confirmed", { mode: "RTC_TEST", hold: pressing }],
    ["silent", "silence", { mode: "RTC", hold: talking() }],
    ["leaves", "customer_hangup", { mode: "RTC", hold: leaving }],
    ["reloads", "confirmed", { mode: "RTC_TEST", hold: reloading }],
    ["leads", "customer_hangup", { mode: "RTC_STREAM", hold: leading }],
    ["nobody joins", "EXPIRED", { mode: "RTC", template_id: hasty, hold: () => Promise.resolve() }],
  ];
  const limit = pLimit(AT_ONCE);
  const held = ({ hold, ...session }: RowSession): RowSession => ({
    ...session,
    hold: (client, lead_id) => limit(() => hold(client, lead_id)),
  });
  return sessions.map(([request_id, expected, session], i) => ({
    line: i + 1,
    request_id,
    payload: session.template_id === undefined ? PAYLOAD : {},
    expected,
    session: held(session),
  }));
}
