import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { RoomNews } from "./room-messages.ts";
import type { StartRoomProcess } from "./room-workers.ts";

const PROGRAM = fileURLToPath(new URL("./room-program.ts", import.meta.url));
/**
 * Options of V8, as a process of conversations has them (docs/performance.md): one helper thread in place of four, which would take the processor from the rooms while garbage is marked, and more
 * room for young objects, as each event of the native library is a few.
 */
const V8 = ["--v8-pool-size=1", "--max-semi-space-size=32"];
/** Orders that wait for a process; sound beyond is dropped: it would be late. */
const MAX_UNSENT = 2000;

/**
 * A process of rooms of our own: it gets none of our environment, which holds secrets, and what the native library prints goes nowhere. `NODE_ENV`: else the library logs everything.
 */
export const startRoomProcess: StartRoomProcess = ({ news, exited }) => {
  const child = fork(PROGRAM, [], {
    serialization: "advanced",
    execArgv: V8,
    env: { NODE_ENV: "production" },
    stdio: ["ignore", "ignore", "ignore", "ipc"],
  });
  let unsent = 0;
  let isOver = false;
  const over = (): void => {
    if (isOver) return;
    isOver = true;
    exited();
  };
  child.on("message", (message: RoomNews) => news(message));
  child.on("exit", over);
  child.on("error", over);
  return {
    send(order, done) {
      if (!child.connected || (order.kind === "audio" && unsent >= MAX_UNSENT)) return done();
      unsent++;
      child.send(order, () => {
        unsent--;
        done();
      });
    },
    end: () => {
      if (child.connected) child.disconnect();
    },
    kill: () => void child.kill("SIGKILL"),
  };
};
