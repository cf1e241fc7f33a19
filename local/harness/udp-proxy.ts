import { createSocket, type RemoteInfo, type Socket } from "node:dgram";

const HOST = "127.0.0.1";

/** Stands between clients and a port of UDP on this machine. */
export interface UdpProxy {
  port: number;
  /** Clients that have sent something. */
  clients(): number;
  /** From now on nothing passes, either way, and neither end is told; or everything does again. */
  drop(on: boolean): void;
  /** Packets that did not pass. */
  dropped(): number;
  close(): void;
}

const bound = (socket: Socket): Promise<number> =>
  new Promise((resolve, reject) => {
    socket.once("error", reject);
    socket.bind(0, HOST, () => resolve(socket.address().port));
  });

/** Starts a proxy on a free port before a port of UDP: each client has a port of its own before the server. */
export async function startUdpProxy(to: number): Promise<UdpProxy> {
  const outside = createSocket("udp4");
  const port = await bound(outside);
  const inside = new Map<string, Socket>();
  let isDropping = false;
  let dropped = 0;
  /** Whether this packet passes. */
  const passes = (): boolean => {
    if (isDropping) dropped += 1;
    return !isDropping;
  };
  const insideOf = ({ address, port: from }: RemoteInfo): Socket => {
    const client = `${address} ${from}`;
    const known = inside.get(client);
    if (known) return known;
    const socket = createSocket("udp4");
    // a server that is gone answers that nobody listens, which the client of a lost network does not hear
    socket.on("error", () => undefined);
    socket.on("message", (packet) => {
      if (passes()) outside.send(packet, from, address);
    });
    inside.set(client, socket);
    return socket;
  };
  outside.on("message", (packet, client) => {
    if (passes()) insideOf(client).send(packet, to, HOST);
  });
  return {
    port,
    clients: () => inside.size,
    dropped: () => dropped,
    drop(on) {
      isDropping = on;
    },
    close() {
      for (const socket of [outside, ...inside.values()]) socket.close();
    },
  };
}
