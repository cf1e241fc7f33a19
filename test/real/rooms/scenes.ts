import { setTimeout as wait } from "node:timers/promises";
import {
  agentOf,
  alike,
  customerOf,
  hasSaid,
  mostlyAlike,
  type Lead,
} from "../../fixtures/product/audio-transcripts.ts";
import { systemClock } from "../../../shared/time/clock.ts";
import { within } from "../../../shared/time/deadline.ts";
import { holds, type RoomLane } from "./lane.ts";
import { joinRoom, type RoomClient } from "../../../local/harness/sessions/room-client.ts";
import { roomProcesses } from "../../../local/harness/sessions/room-processes.ts";
import { serverAgain, signalServer, tokenFor } from "./room-server.ts";

/** Something that is played in a real room, and must end as it says. */
export interface Scene {
  name: string;
  /** False: left out by --short. */
  isShort: boolean;
  /** Nothing else is played meanwhile. */
  alone?: boolean;
  /** Throws where it is not as it should be. What it returns is told. */
  run(lane: RoomLane): Promise<string>;
}

const MS = 1000;
const MOST_TRIES = 4;
const PATIENCE_MS = 5000;
const SAY = "Yes, please.";

function must(isTrue: boolean, what: string): void {
  if (!isTrue) throw new Error(what);
}
const endOf = ({ outcome, metaData }: Lead): string => `${outcome} by ${String(metaData["call_ended_by"])}`;
const mustEnd = (lead: Lead, end: string): void =>
  must(endOf(lead) === end, `it ended ${endOf(lead)}, not ${end}; the client said: ${customerOf(lead)}`);
const seconds = (since: number): string => ((performance.now() - since) / MS).toFixed(1);

/** The rest of a conversation whose question was heard: the answer, the end, and the lead. */
async function answered(lane: RoomLane, lead_id: string, client: RoomClient): Promise<Lead> {
  const finished = lane.finished(lead_id);
  // a tone that the jitter buffer stretched may have cost a letter, and the simulated model takes words at their letters
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    client.say(SAY);
    if (await within(systemClock, PATIENCE_MS, finished)) break;
  }
  const lead = await finished;
  mustEnd(lead, "confirmed by agent");
  return lead;
}

const conversation = (engine: "cascade" | "realtime"): Scene => ({
  name: `a whole conversation, ${engine}`,
  isShort: engine === "cascade",
  async run(lane) {
    const lead_id = await lane.pushed("RTC", engine);
    const access = await lane.join(lead_id);
    must(access.transport === "livekit", `the transport is ${access.transport}`);
    const client = await joinRoom(access);
    await lane.asked(client);
    const lead = await answered(lane, lead_id, client);
    must(hasSaid(customerOf(lead), SAY), `the transcript has ${customerOf(lead)}`);
    await client.closed;
    const { customer, agent } = await lane.stage.recording(access.room_name);
    must(hasSaid(customer, SAY), `the recording has on the left ${customer}`);
    must(mostlyAlike(agent, client.heard()), `the recording has ${agent}, the client heard ${client.heard()}`);
    await holds("the report", () => lane.product.sink.reports.get(lead_id));
    const types = new Set(client.messages.map(({ type }) => type));
    for (const type of ["hello", "transcript", "node", "end"]) must(types.has(type), `no ${type} came`);
    return `first sound ${Math.round(client.firstSoundMs() ?? 0)} ms after the room was joined`;
  },
});

const STREAM: Scene = {
  name: "RTC_STREAM by HTTP, data and procedure call",
  isShort: true,
  async run(lane) {
    const lead_id = await lane.pushed("RTC_STREAM");
    const client = await lane.client(lead_id);
    const statuses = (id: string): string =>
      client.messages
        .filter((m) => m["type"] === "speech" && m["utterance_id"] === id)
        .map((m) => m["status"])
        .join();
    await holds("the beginning", () => client.messages.length > 0);
    const http = { path: { lead_id }, body: { text: "Good morning.", utterance_id: "one" } };
    await lane.product.admin.ask("POST", "/leads/{lead_id}/tts-speak", http);
    client.send({ type: "speak", text: "How are you?", utterance_id: "two" });
    const told = await client.speak({ text: "I am fine.", utterance_id: "three" });
    must(told["status"] === "queued", `the procedure answered ${JSON.stringify(told)}`);
    const again = await client.speak({ text: "I am fine.", utterance_id: "three" });
    must(again["status"] === "refused", `the same utterance again was answered ${JSON.stringify(again)}`);
    await holds("all to be heard", () => statuses("three").includes("finished"));
    // what was said last is on its way still
    await holds("the last words", () => mostlyAlike(client.heard(), "Good morning. How are you? I am fine."));
    for (const id of ["one", "two"]) must(statuses(id) === "queued,started,finished", `${id}: ${statuses(id)}`);
    client.say("Thanks.");
    await holds("the answer", () => JSON.stringify(client.messages).includes('"user"'));
    client.send({ type: "leave" });
    const lead = await lane.finished(lead_id);
    must(alike(customerOf(lead), "Thanks."), `the transcript has ${customerOf(lead)}`);
    mustEnd(lead, "customer_hangup by customer");
    return agentOf(lead);
  },
};

const RELOAD: Scene = {
  name: "left and joined again, then left for good",
  isShort: true,
  async run(lane) {
    const lead_id = await lane.pushed("RTC_TEST");
    const first = await lane.client(lead_id);
    await lane.asked(first);
    await first.leave();
    const second = await lane.client(lead_id);
    await holds("the second hello", () => second.messages.some((m) => m["resumed"] === true));
    second.say("What?");
    await holds("the words of the second", () => JSON.stringify(second.messages).includes('"user"'));
    const left = performance.now();
    await second.leave();
    mustEnd(await lane.finished(lead_id), "customer_hangup by customer");
    return `ended ${seconds(left)} s after the last one left`;
  },
};

const TOKENS: Scene = {
  name: "tokens: twice, of another room, expired, after the end",
  isShort: true,
  async run(lane) {
    const refused = (access: { url: string; token: string }): Promise<boolean> =>
      joinRoom(access).then(
        async (client) => {
          await client.leave();
          return false;
        },
        () => true,
      );
    const lead_id = await lane.pushed("RTC");
    const access = await lane.join(lead_id);
    const client = await joinRoom(access);
    await lane.asked(client);
    // LiveKit takes a token again: whoever holds it takes the place of the one before, and nobody listens in beside it
    const second = await joinRoom(access);
    await client.closed;
    await holds("the second to be in", () => second.messages.some((m) => m["resumed"] === true));
    const forged = async (room: string, ttl: number) => ({ url: access.url, token: await tokenFor(room, ttl) });
    must(await refused(await forged("rtc-nobody.1", 60)), "a room that nobody made was entered");
    must(await refused(await forged(access.room_name, -600)), "an expired token was let in");
    await answered(lane, lead_id, second);
    await second.closed;
    await holds("the room to be gone", () => refused(access));
    return "the second took over; the others were refused";
  },
};

const WORKER: Scene = {
  name: "the processes of rooms killed in mid-session",
  isShort: true,
  alone: true,
  async run(lane) {
    const lead_id = await lane.pushed("RTC");
    const client = await lane.client(lead_id);
    await lane.asked(client);
    const killed = performance.now();
    const pids = roomProcesses();
    must(pids.length > 0, "no process of rooms was found");
    for (const pid of pids) process.kill(pid, "SIGKILL");
    await holds("the agent to be back", () => client.messages.some((m) => m["resumed"] === true));
    const back = seconds(killed);
    must(Number(back) < 5, `the agent was back after ${back} s`);
    await answered(lane, lead_id, client);
    return `the agent was back after ${back} s`;
  },
};

const PAUSED: Scene = {
  name: "the room server stopped for 5 s",
  isShort: false,
  alone: true,
  async run(lane) {
    const lead_id = await lane.pushed("RTC");
    const client = await lane.client(lead_id);
    await lane.asked(client);
    signalServer("SIGSTOP");
    await wait(5 * MS);
    signalServer("SIGCONT");
    await wait(MS);
    await answered(lane, lead_id, client);
    return "it went on";
  },
};

const RESTARTED: Scene = {
  name: "the room server killed, back after 2 s",
  isShort: false,
  alone: true,
  async run(lane) {
    const lead_id = await lane.pushed("RTC");
    const client = await lane.client(lead_id);
    await lane.asked(client);
    const killed = performance.now();
    signalServer("SIGKILL");
    await wait(2 * MS);
    await serverAgain();
    await holds(
      "both to be back, or the end",
      async () =>
        client.messages.some((m) => m["resumed"] === true || m["type"] === "end") ||
        lane.product.admin
          .ask("GET", "/leads/{lead_id}", { path: { lead_id } })
          .then(({ status }) => status === "FINISHED"),
    );
    const back = seconds(killed);
    if (!client.messages.some((m) => m["resumed"] === true))
      return `${endOf(await lane.finished(lead_id))} after ${back} s`;
    await answered(lane, lead_id, client);
    return `it went on after ${back} s`;
  },
};

const AWAY: Scene = {
  name: "the room server away for 60 s",
  isShort: false,
  alone: true,
  async run(lane) {
    const lead_id = await lane.pushed("RTC");
    const waits = await lane.pushed("RTC");
    const client = await lane.client(lead_id);
    await lane.asked(client);
    const killed = performance.now();
    signalServer("SIGKILL");
    const refused = await lane.join(waits).then(
      () => "let in",
      (error: unknown) => String(error),
    );
    must(/DEPENDENCY_DOWN/.test(refused) && !/eyJ/.test(refused), `a join meanwhile: ${refused}`);
    const lead = await lane.finished(lead_id);
    const ended = seconds(killed);
    must(Number(ended) < 30, `it ended after ${ended} s`);
    must(agentOf(lead).length > 0, "the words heard so far are lost");
    await wait(Math.max(0, 60 * MS - (performance.now() - killed)));
    await serverAgain();
    const next = await lane.client(waits);
    await lane.asked(next);
    await answered(lane, waits, next);
    return `${endOf(lead)} after ${ended} s; the next session after it was held`;
  },
};

/** Every scene, those of few seconds first. */
export const SCENES: readonly Scene[] = [
  conversation("cascade"),
  conversation("realtime"),
  STREAM,
  RELOAD,
  TOKENS,
  WORKER,
  PAUSED,
  RESTARTED,
  AWAY,
];
