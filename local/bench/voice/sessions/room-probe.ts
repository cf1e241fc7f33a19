import { Socket } from "node:net";
import { loadMeter, PROBE_FD } from "./load-meter.ts";

/** Loaded into a process of LiveKit rooms before its program (watched-rooms.ts): answers each line that comes over a channel of its own with what the process was like since the last one. */

const measure = loadMeter();
const channel = new Socket({ fd: PROBE_FD, readable: true, writable: true });
channel.unref();
channel.on("error", () => undefined);
channel.on("data", () => {
  channel.write(`${JSON.stringify(measure())}\n`);
});
