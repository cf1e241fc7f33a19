import { Socket } from "node:net";
import { createInterface } from "node:readline";
import { loadMeter, PROBE_FD } from "./load-meter.ts";
import { passedHere } from "./sound-probe.ts";

/** Loaded into a process of LiveKit rooms before its program (watched-rooms.ts): answers each line that comes over a channel of its own with what the process was like since the last one, or with the sound that passed. */

const measure = loadMeter();
const channel = new Socket({ fd: PROBE_FD, readable: true, writable: true });
channel.unref();
channel.on("error", () => undefined);
createInterface({ input: channel }).on("line", (line) => {
  channel.write(`${JSON.stringify(line === "load" ? measure() : passedHere())}\n`);
});
