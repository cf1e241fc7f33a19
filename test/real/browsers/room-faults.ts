import assert from "node:assert/strict";
import { after, until } from "../../../local/harness/stage.ts";
import { startTcpProxy } from "../../../local/harness/tcp-proxy.ts";
import type { Page } from "../../../local/real/browser/chromium.ts";
import { roomProcesses } from "../../../local/harness/sessions/room-processes.ts";
import { serverAgain, signalServer, tokenFor } from "../rooms/room-server.ts";
import { shows, SPEAKS_EVERY_MS, WAIT_MS, type Lane } from "./lane.ts";
import type { Scene } from "./scene.ts";

const SAYS = "Yes, please.";
const QUESTION = "Do you confirm the order?";
/** Nobody is asked whether they are still there while a fault goes on. */
const PATIENT = { max_call_seconds: 180, idle_seconds: 60, max_age_seconds: 86_400 };
const MS = 1000;
const ALIVE_S = 600;
const POLL_MS = 200;

/** A person whose conversation is under way in a room when something happens to it. */
async function during(lane: Lane, happens: (page: Page) => Promise<void>): Promise<string> {
  const lead_id = await lane.pushed("RTC", { limits: PATIENT });
  const page = await lane.talk(await lane.browser(SAYS), lead_id);
  await shows(page, "#words", QUESTION);
  await happens(page);
  const lead = await lane.finished(lead_id, WAIT_MS);
  assert.deepEqual([lead.outcome, lead.attempt_count], ["confirmed", 1], await page.text("#status"));
  await shows(page, "#status", "The conversation is over.");
  return `it went on, at the end by ${String(await page.evaluate("document.body.dataset.transport"))}`;
}

const comesBack = (page: Page, transport: string): Promise<void> =>
  page.until(`to talk by ${transport}`, `document.body.dataset.transport === "${transport}"`, WAIT_MS);

const workerKilled = (lane: Lane): Promise<string> =>
  during(lane, async () => {
    const pids = roomProcesses();
    assert.ok(pids.length > 0, "no process of rooms was found");
    for (const pid of pids) process.kill(pid, "SIGKILL");
  });

const serverRestarted = (seconds: number) => (lane: Lane) =>
  during(lane, async () => {
    signalServer("SIGKILL");
    await after(seconds * MS);
    await serverAgain();
  });

/** It answers nobody, and closes nothing. */
const serverStopped = (seconds: number) => async (lane: Lane) => {
  const began = performance.now();
  try {
    return await during(lane, async () => {
      signalServer("SIGSTOP");
      if (seconds * MS < WAIT_MS) {
        await after(seconds * MS);
        signalServer("SIGCONT");
      }
    });
  } finally {
    await after(Math.max(0, seconds * MS - (performance.now() - began)));
    signalServer("SIGCONT");
  }
};

/** The server is gone: who talks goes on by WebSocket, and so begins who comes meanwhile. */
async function serverAway(lane: Lane): Promise<string> {
  const began = performance.now();
  try {
    return await during(lane, async (page) => {
      signalServer("SIGKILL");
      await comesBack(page, "websocket");
      const other = await lane.pushed("RTC", { limits: PATIENT });
      const meanwhile = await (await lane.browser(SAYS)).open(await lane.link(other));
      await meanwhile.click("#start");
      await comesBack(meanwhile, "websocket");
      assert.equal((await lane.finished(other)).outcome, "confirmed");
    });
  } finally {
    await after(Math.max(0, 60 * MS - (performance.now() - began)));
    await serverAgain();
  }
}

const status = (page: Page): Promise<string> => page.text("#status");

/** A page that went on by WebSocket is as good as one that began so: it mutes, and is loaded again; what is said while it is muted is not heard. */
async function fallenBack(lane: Lane): Promise<string> {
  const lead_id = await lane.pushed("RTC", { limits: PATIENT });
  const page = await lane.talk(await lane.browser(SAYS), lead_id);
  await shows(page, "#words", QUESTION);
  await page.click("#mute");
  signalServer("SIGKILL");
  try {
    await comesBack(page, "websocket");
    await shows(page, "#status", "Your microphone is muted.");
    // the microphone has heard the sentence meanwhile
    await after(SPEAKS_EVERY_MS);
    const words = await page.text("#words");
    assert.ok(!words.includes("You"), `what was said while muted was heard: ${words}`);
    await page.reload();
    assert.equal(await page.text("#start"), "Go on");
    await page.click("#start");
    await comesBack(page, "websocket");
    await shows(page, "#words", QUESTION);
  } finally {
    await serverAgain();
  }
  const lead = await lane.finished(lead_id, WAIT_MS);
  assert.deepEqual([lead.outcome, lead.attempt_count], ["confirmed", 1], await status(page));
  await shows(page, "#status", "The conversation is over.");
  return "muted, loaded again, and to the end by WebSocket";
}

/** The page has fallen back, and its network goes too: it comes back by WebSocket, for the room server is away still. */
async function fallenBackOffline(lane: Lane): Promise<string> {
  const [gateway, media] = lane.ports;
  const proxies = await Promise.all([gateway, media].map((port) => startTcpProxy(`http://127.0.0.1:${port}`)));
  const leads = Object.fromEntries(
    [gateway, media].map((port, i) => [`127.0.0.1:${port}`, `127.0.0.1:${proxies[i]?.port}`]),
  );
  const browser = await lane.browser(SAYS, { leads });
  const lead_id = await lane.pushed("RTC", { limits: PATIENT });
  const page = await lane.talk(browser, lead_id);
  await shows(page, "#words", QUESTION);
  await page.click("#mute");
  signalServer("SIGKILL");
  try {
    await comesBack(page, "websocket");
    for (const proxy of proxies) proxy.set("both", { mode: "pause" });
    const began = performance.now();
    await shows(page, "#status", "The network is gone.");
    await after(10 * MS - (performance.now() - began));
    for (const proxy of proxies) await proxy.heal();
    await shows(page, "#status", "Your microphone is muted.");
    const back = ((performance.now() - began) / MS).toFixed(1);
    await page.click("#mute");
    const lead = await lane.finished(lead_id, WAIT_MS);
    assert.deepEqual([lead.outcome, lead.attempt_count], ["confirmed", 1], await status(page));
    return `back after ${back} s, and the conversation went on`;
  } finally {
    await serverAgain();
    await browser.close();
    await Promise.all(proxies.map((proxy) => proxy.close()));
  }
}

/** LiveKit's own library in a page, with what a program got by POST /leads/{lead_id}/join. */
const entering = ({ url, token }: { url: string; token: string }): string =>
  `import("/r/assets/livekit-client.mjs").then(async ({ Room }) => {
    window.told = [];
    window.room = new Room();
    room.on("disconnected", (reason) => { window.left = reason; });
    room.on("dataReceived", (bytes) => told.push(JSON.parse(new TextDecoder().decode(bytes))));
    room.on("trackSubscribed", (track) => track.attach());
    await room.connect(${JSON.stringify(url)}, ${JSON.stringify(token)});
    await room.localParticipant.setMicrophoneEnabled(true);
    return "in";
  }).catch((error) => "refused: " + error.message)`;

async function ownClient(lane: Lane): Promise<string> {
  const browser = await lane.browser();
  const lead_id = await lane.pushed("RTC_STREAM");
  const access = await lane.product.admin.ask("POST", "/leads/{lead_id}/join", { path: { lead_id } });
  const open = async (): Promise<Page> => browser.open(await lane.link(lead_id));
  const first = await open();
  assert.equal(await first.evaluate(entering(access)), "in");
  await first.until("the hello", `told.some((m) => m.type === "hello")`, WAIT_MS);
  const request = JSON.stringify(JSON.stringify({ text: "Good morning.", utterance_id: "one" }));
  const call = `room.localParticipant.performRpc({ destinationIdentity: "agent", method: "speak", payload: ${request} })`;
  assert.match(String(await first.evaluate(call)), /"status":"queued"/);
  await first.until("it to be spoken", `told.some((m) => m.status === "finished")`, WAIT_MS);
  // LiveKit takes a token again within its time: who holds it takes the place of the one before
  const second = await open();
  assert.equal(await second.evaluate(entering(access)), "in");
  await first.until("the first to be put out", "window.left === 2", WAIT_MS);
  await second.evaluate(
    `room.localParticipant.publishData(new TextEncoder().encode('{"type":"leave"}'), { reliable: true, topic: "callagent" })`,
  );
  await lane.finished(lead_id);
  await second.until("to be put out", "window.left !== undefined", WAIT_MS);
  const refused = async (): Promise<string | undefined> => {
    const said = String(await (await open().catch(() => second)).evaluate(entering(access)));
    return said.startsWith("refused") ? said : undefined;
  };
  await until("the token to be refused", refused, WAIT_MS, POLL_MS);
  const waiting = await lane.pushed("RTC_STREAM");
  const { url, room_name } = await lane.product.admin.ask("POST", "/leads/{lead_id}/join", {
    path: { lead_id: waiting },
  });
  for (const [what, token] of [
    ["a token of a room that nobody made", await tokenFor(`${room_name}9`, ALIVE_S)],
    ["a token after its time", await tokenFor(room_name, -ALIVE_S)],
  ] as const)
    assert.match(String(await second.evaluate(entering({ url, token }))), /^refused/, what);
  return "spoken by remote procedure; its token again took the place; refused after the end, after its time and in another room";
}

/** What goes wrong in a LiveKit room with a browser in it; none hangs. */
export const ROOM_FAULTS: readonly Scene[] = [
  { name: "LiveKit's own library in the page", isShort: false, only: "livekit", run: ownClient },
  { name: "process of rooms killed", isShort: true, only: "livekit", alone: true, run: workerKilled },
  { name: "room server killed, back after 2 s", isShort: false, only: "livekit", alone: true, run: serverRestarted(2) },
  { name: "room server killed, back after 5 s", isShort: false, only: "livekit", alone: true, run: serverRestarted(5) },
  { name: "room server stopped 5 s", isShort: false, only: "livekit", alone: true, run: serverStopped(5) },
  { name: "room server stopped 60 s", isShort: false, only: "livekit", alone: true, run: serverStopped(60) },
  { name: "room server away 60 s", isShort: false, only: "livekit", alone: true, run: serverAway },
  {
    name: "fallen back: muted, reloaded",
    isShort: false,
    only: "livekit",
    alone: true,
    run: fallenBack,
  },
  { name: "fallen back: network gone 10 s", isShort: false, only: "livekit", alone: true, run: fallenBackOffline },
];
