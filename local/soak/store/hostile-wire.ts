import { connect, type Socket } from "node:net";
import { serialize } from "bson";

const HEADER_BYTES = 16;
const OP_MSG = 2013;
/** How long an answer to a frame is waited for; a broken frame may get none. */
const SILENCE_MS = 2000;

/** One OP_MSG whose body is the bytes given. */
export function frame(body: Uint8Array, opcode = OP_MSG): Buffer {
  const head = Buffer.alloc(HEADER_BYTES + 5);
  head.writeInt32LE(head.length + body.length, 0);
  head.writeInt32LE(1, 4);
  head.writeInt32LE(opcode, 12);
  return Buffer.concat([head, body]);
}

/** Documents nested deeper than BSON may be, by bytes: no driver would write them. */
export function nestedBytes(depth: number): Buffer {
  let inner: Buffer = Buffer.from([5, 0, 0, 0, 0]);
  for (let i = 0; i < depth; i++) {
    const length = Buffer.alloc(4);
    length.writeInt32LE(inner.length + 8);
    inner = Buffer.concat([length, Buffer.from([3, 97, 0]), inner, Buffer.from([0])]);
  }
  return inner;
}

/** A command with a byte changed at each place that `places` names, each from 0 to 1. */
export function spoiled(command: object, places: readonly number[]): Buffer {
  const bytes = frame(serialize(command));
  for (const place of places) bytes[Math.floor(place * bytes.length)] = Math.floor(place * 7919) % 256;
  return bytes;
}

/** Sends bytes on a connection of their own; how it went: "answered", "closed" by the store, or "silent". `stay`: the connection is left half open. */
export function send(port: number, bytes: Uint8Array, stay?: Set<Socket>): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    const end = (how: string): void => {
      clearTimeout(timer);
      resolve(how);
      if (stay === undefined) socket.destroy();
    };
    const timer = setTimeout(() => end("silent"), SILENCE_MS);
    socket.on("data", () => end("answered"));
    socket.on("error", () => end("closed"));
    socket.on("close", () => end("closed"));
    socket.on("connect", () => {
      socket.write(bytes);
      if (stay === undefined) return;
      stay.add(socket);
      end("half open");
    });
  });
}
