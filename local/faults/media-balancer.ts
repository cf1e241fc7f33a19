import { connect, createServer, type Socket } from "node:net";

/** A process behind the balancer: the port of its media, and where it says that it is ready. */
export interface Backend {
  port: number;
  /** The address of its health port. */
  health: string;
}

/** What stands before several processes of conversations: sends media to those that are ready. */
export interface MediaBalancer {
  port: number;
  /** From now on these are behind it. */
  serve(backends: readonly Backend[]): void;
  close(): Promise<void>;
}

const HOST = "127.0.0.1";
/** Each process is asked this often, and has this long to answer: one that stands still gets no more media after half a second at most. */
const ASK_EVERY_MS = 250;
const ANSWER_MS = 250;
/** A process that says nothing to the request for a socket within this long is given up for another one, ms. */
const UPGRADE_MS = 700;
const HEAD_END = "\r\n\r\n";
const MAX_HEAD_BYTES = 16_384;

const isReady = ({ health }: Backend): Promise<boolean> =>
  fetch(`${health}/ready`, { signal: AbortSignal.timeout(ANSWER_MS) }).then(
    async (answer) => {
      await answer.body?.cancel();
      return answer.ok;
    },
    () => false,
  );

/** Asks a process for the socket that the head asks for; null: it does not answer. */
function upgraded(head: Buffer, { port }: Backend): Promise<{ server: Socket; first: Buffer } | null> {
  return new Promise((resolve) => {
    const server = connect(port, HOST, () => server.write(head));
    server.setNoDelay(true);
    const giveUp = (): void => {
      clearTimeout(timer);
      server.destroy();
      resolve(null);
    };
    const timer = setTimeout(giveUp, UPGRADE_MS);
    server.once("error", giveUp);
    server.once("data", (first: Buffer) => {
      clearTimeout(timer);
      server.off("error", giveUp);
      server.pause();
      resolve({ server, first });
    });
  });
}

function join(client: Socket, server: Socket, first: Buffer): void {
  client.write(first);
  client.pipe(server).pipe(client);
  for (const [one, other] of [
    [client, server],
    [server, client],
  ] as const) {
    one.on("error", () => other.destroy());
    one.on("close", () => other.destroy());
  }
}

/** Reads the head of a request; null: it is none. */
const headOf = (client: Socket): Promise<Buffer | null> =>
  new Promise((resolve) => {
    let head = Buffer.alloc(0);
    const read = (chunk: Buffer): void => {
      head = Buffer.concat([head, chunk]);
      if (!head.includes(HEAD_END) && head.length < MAX_HEAD_BYTES) return;
      client.off("data", read);
      client.pause();
      resolve(head.includes(HEAD_END) ? head : null);
    };
    client.on("data", read);
    client.once("close", () => resolve(null));
    client.once("error", () => resolve(null));
  });

/** Starts it on a free port, with nobody behind it. */
export async function startMediaBalancer(): Promise<MediaBalancer> {
  let all: { backend: Backend; ready: boolean }[] = [];
  let turn = 0;
  const sockets = new Set<Socket>();
  const ask = async (one: (typeof all)[number]): Promise<void> => {
    one.ready = await isReady(one.backend);
  };
  const timer = setInterval(() => {
    for (const one of all) void ask(one);
  }, ASK_EVERY_MS);
  timer.unref();
  const serveSocket = async (client: Socket): Promise<void> => {
    sockets.add(client.on("close", () => sockets.delete(client)));
    client.setNoDelay(true);
    const head = await headOf(client);
    turn += 1;
    // in turn; those that are not ready last
    const order = [...all.slice(turn % Math.max(1, all.length)), ...all.slice(0, turn % Math.max(1, all.length))];
    for (const { backend } of order.toSorted((a, b) => Number(b.ready) - Number(a.ready))) {
      if (head === null || client.destroyed) break;
      const answer = await upgraded(head, backend);
      if (answer) return join(client, answer.server, answer.first);
    }
    client.destroy();
  };
  const server = createServer((client) => void serveSocket(client));
  await new Promise<void>((resolve) => server.listen(0, HOST, resolve));
  const address = server.address();
  return {
    port: typeof address === "object" && address !== null ? address.port : 0,
    serve(backends) {
      all = backends.map((backend) => ({ backend, ready: true }));
    },
    async close() {
      clearInterval(timer);
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
