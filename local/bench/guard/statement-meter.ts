import { connect, createServer, type Socket } from "node:net";

/** A proxy before a database, which counts what services ask of it. */
export interface StatementMeter {
  /** The same address, through the proxy. */
  url: string;
  /** Commands so far. */
  spent(): number;
  close(): void;
}

const HOST = "127.0.0.1";
const OP_MSG = 2013;
/** Behind the header, the flags, the kind of section, the length of the document and the type of its first member stands that member's name, which is the command's (https://www.mongodb.com/docs/manual/reference/mongodb-wire-protocol/). */
const COMMAND_AT = 26;
/** What the driver asks for itself. */
const DRIVERS_OWN = new Set(["hello", "ismaster", "isMaster", "ping", "endSessions", "killCursors"]);

function commandOf(message: Buffer): string | null {
  if (message.readInt32LE(12) !== OP_MSG) return null;
  return message.toString("latin1", COMMAND_AT, message.indexOf(0, COMMAND_AT));
}

/** Starts one before the database at `url`. */
export async function startStatementMeter(url: string): Promise<StatementMeter> {
  const [target, own] = [new URL(url), new URL(url)];
  let spent = 0;
  const sockets = new Set<Socket>();
  const count = (message: Buffer): void => {
    const command = commandOf(message);
    if (command !== null && !DRIVERS_OWN.has(command)) spent += 1;
  };
  const server = createServer((client) => {
    const database = connect(Number(target.port), target.hostname);
    let rest: Buffer = Buffer.alloc(0);
    client.on("data", (chunk: Buffer) => {
      database.write(chunk);
      rest = Buffer.concat([rest, chunk]);
      while (rest.length >= 4 && rest.length >= rest.readInt32LE(0)) {
        const length = rest.readInt32LE(0);
        count(rest.subarray(0, length));
        rest = rest.subarray(length);
      }
    });
    database.pipe(client);
    for (const socket of [client, database]) {
      sockets.add(socket.setNoDelay(true));
      const end = (): void => {
        client.destroy();
        database.destroy();
      };
      socket.on("error", end).on("close", end);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, HOST, resolve));
  const address = server.address();
  if (typeof address === "object" && address) own.port = String(address.port);
  return {
    url: own.href,
    spent: () => spent,
    close() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}
