import pLimit from "p-limit";
import { parseArgs } from "node:util";
import type { Chromium } from "../../../local/real/browser/chromium.ts";
import { CONVERSATIONS } from "./conversations.ts";
import { FIREFOX_SCENES } from "./firefox-scenes.ts";
import { FAULTS } from "./faults.ts";
import { VISITORS } from "./visitors.ts";
import { MICROPHONES } from "./microphone-scenes.ts";
import { startLane, type Lane } from "./lane.ts";
import { READING } from "./reading-scenes.ts";
import { ROOM_FAULTS } from "./room-faults.ts";
import { RECORDINGS } from "./recording-scenes.ts";
import { REAL_SPEECH } from "./real-speech-scenes.ts";
import { SERVER_FAULTS } from "./server-faults.ts";
import type { Scene } from "./scene.ts";

/** Plays scenes with a real browser, in rooms of the LiveKit server that the environment names, if it does: `main.ts [--short] [--split: one process per service] [--folder where screens are kept] [part of a scene's name …]`. Each is a line that ends with "as it should" or "FAILED". */
const AT_ONCE = 3;
const MS = 1000;

/** A lane for one scene, whose browsers go with it: a page that is left open hears and plays on, and takes the machine from the scenes that follow. */
function laneOf(lane: Lane): { own: Lane; leave(): Promise<unknown> } {
  const browsers: Chromium[] = [];
  const browser: Lane["browser"] = async (...how) => {
    const started = await lane.browser(...how);
    browsers.push(started);
    return started;
  };
  return { own: { ...lane, browser }, leave: () => Promise.all(browsers.map((one) => one.close())) };
}

async function play(scene: Scene, lane: Lane): Promise<boolean> {
  const { own, leave } = laneOf(lane);
  const began = performance.now();
  const tell = (end: string): void =>
    console.log(`${scene.name.padEnd(48)} ${((performance.now() - began) / MS).toFixed(1).padStart(6)} s  ${end}`);
  try {
    tell(`${await scene.run(own)} | as it should`);
    return true;
  } catch (error) {
    tell(`${error instanceof Error ? error.message.replaceAll("\n", " ") : String(error)} | FAILED`);
    console.log(error instanceof Error ? error.stack : "");
    return false;
  } finally {
    await leave();
  }
}

const { values, positionals } = parseArgs({
  options: {
    short: { type: "boolean", default: false },
    split: { type: "boolean", default: false },
    folder: { type: "string", default: "." },
  },
  allowPositionals: true,
});
const lane = await startLane(values.folder, values.split);
const scenes = [
  ...FAULTS,
  ...SERVER_FAULTS,
  ...CONVERSATIONS,
  ...RECORDINGS,
  ...FIREFOX_SCENES,
  ...MICROPHONES,
  ...REAL_SPEECH,
  ...VISITORS,
  ...READING,
  ...ROOM_FAULTS,
].filter(
  ({ name, isShort, only = lane.transport }) =>
    only === lane.transport &&
    (isShort || !values.short) &&
    (positionals.length === 0 || positionals.some((part) => name.includes(part))),
);
try {
  const limit = pLimit(AT_ONCE);
  const together = scenes.filter((scene) => scene.alone !== true);
  const played = await Promise.all(together.map((scene) => limit(() => play(scene, lane))));
  for (const scene of scenes) if (scene.alone === true) played.push(await play(scene, lane));
  console.log(`${played.filter(Boolean).length} of ${scenes.length} scenes ended as they should`);
  process.exitCode = played.every(Boolean) ? 0 : 1;
} finally {
  await lane.stop();
}
process.exit();
