import { connect } from "node:net";
import type { Socket } from "node:net";
import { deserialize, serialize } from "bson";
import type { Collection, Document } from "mongodb";
import { MongoClient } from "mongodb";
import { startStore } from "../../deploy/local/store/server.ts";
import type { RunningStore } from "../../deploy/local/store/server.ts";

/** A store in memory, a driver on it, and a fresh collection for each caller. */
export interface StoreUnderTest {
  store: RunningStore;
  client: MongoClient;
  fresh: (docs?: Document[]) => Promise<Collection<Document>>;
  stop: () => Promise<void>;
}

let n = 0;

export async function storeUnderTest(): Promise<StoreUnderTest> {
  const store = await startStore({ dir: ":memory:", port: 0 });
  const client = await new MongoClient(store.url).connect();
  return {
    store,
    client,
    fresh: async (docs) => {
      const collection = client.db("test").collection(`c${++n}`);
      if (docs !== undefined && docs.length > 0) await collection.insertMany(docs as never[]);
      return collection;
    },
    stop: async () => {
      await client.close();
      await store.close();
    },
  };
}

/** The code and codeName a promise is refused with. */
export async function refusal(work: Promise<unknown>): Promise<[number | undefined, string | undefined]> {
  try {
    await work;
  } catch (error) {
    const { code, codeName } = error as { code?: number; codeName?: string };
    if (code === undefined) throw error;
    return [code, codeName];
  }
  throw new Error("nothing was refused");
}

/** A socket that speaks the protocol without a driver. */
export interface Raw {
  socket: Socket;
  reply: () => Promise<{ opcode: number; to: number; doc: Document }>;
  closed: Promise<void>;
}

/** Connects without a driver, which would send its own session and numbers. */
export function rawConnection(url: string): Raw {
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  let buffered = Buffer.alloc(0);
  const waiting: (() => void)[] = [];
  socket.on("data", (chunk) => {
    buffered = Buffer.concat([buffered, chunk]);
    waiting.shift()?.();
  });
  socket.on("error", () => socket.destroy());
  const closed = new Promise<void>((resolve) => {
    socket.on("close", () => resolve());
  });
  const reply = async (): Promise<{ opcode: number; to: number; doc: Document }> => {
    while (buffered.length < 4 || buffered.length < buffered.readInt32LE(0))
      await new Promise<void>((resolve) => {
        waiting.push(resolve);
      });
    const message = buffered.subarray(0, buffered.readInt32LE(0));
    buffered = buffered.subarray(message.length);
    const opcode = message.readInt32LE(12);
    return { opcode, to: message.readInt32LE(8), doc: deserialize(message.subarray(opcode === 1 ? 36 : 21)) };
  };
  return { socket, reply, closed };
}

const HEADER_BYTES = 16;

/** One OP_MSG with a command as its body. */
export function frameCommand(requestId: number, command: Document, flags = 0): Buffer {
  const body = serialize(command);
  const head = Buffer.alloc(HEADER_BYTES + 5);
  head.writeInt32LE(head.length + body.length, 0);
  head.writeInt32LE(requestId, 4);
  head.writeInt32LE(2013, 12);
  head.writeUInt32LE(flags, HEADER_BYTES);
  return Buffer.concat([head, body]);
}
