import { AsyncLocalStorage } from "node:async_hooks";
import type { Agent as HttpAgent, ClientRequest } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import type { Duplex } from "node:stream";
import { Agent, fetch } from "undici";
import { HeldBack } from "./carrier-errors.ts";
import type { DialRequest } from "./carrier-port.ts";

/*
 * The last moment of a dial request: its connection is there, and not a byte of it has left. Before that a name may have to be looked up, a connection to be made
 * and code to be loaded, which takes a new process hundreds of milliseconds; a permit would be long over.
 */

type MayLeave = NonNullable<DialRequest["may_leave"]>;

const asked = new AsyncLocalStorage<MayLeave>();

/** Runs a request over an agent that is `holding`; it fails with HeldBack where it may not leave. `may_leave` undefined: it may. */
export const leaving = <T>(may_leave: MayLeave | undefined, work: () => Promise<T>): Promise<T> =>
  may_leave ? asked.run(may_leave, work) : work();

interface Connecting {
  addRequest(request: ClientRequest, options: object, ...rest: unknown[]): void;
  createConnection(options: object, done: (error: Error | null, socket?: Duplex) => void): Duplex | null | undefined;
}

/** An agent whose requests wait for the connection itself, not only for a socket that will have one, and over which `leaving` works. */
export function holding<A extends HttpAgent>(agent: A): A {
  const connected = agent instanceof HttpsAgent ? "secureConnect" : "connect";
  // node's agents may be changed so (createConnection may call back later); their types don't say it
  const inner = agent as unknown as Connecting;
  const [add, create] = [inner.addRequest.bind(agent), inner.createConnection.bind(agent)];
  inner.addRequest = (request, options, ...rest) => {
    const may = asked.getStore();
    if (may)
      request.once("socket", () => {
        if (!may()) request.destroy(new HeldBack());
      });
    add(request, options, ...rest);
  };
  inner.createConnection = (options, done) => {
    const socket = create(options, () => undefined);
    if (!socket) return socket;
    const settle = (error?: Error): void => {
      socket.off(connected, settle).off("error", settle).off("timeout", tooSlow);
      if (error) done(error);
      else done(null, socket);
    };
    const tooSlow = (): void => {
      const code = "ETIMEDOUT";
      socket.destroy(Object.assign(new Error("no connection in time"), { code, syscall: "connect" }));
    };
    socket.once(connected, settle).once("error", settle).once("timeout", tooSlow);
    return undefined;
  };
  return agent;
}

/** What is read of an answer. */
export interface HttpAnswer {
  status: number;
  headers: { get(name: string): string | null };
  body: AsyncIterable<Uint8Array> | null;
  text(): Promise<string>;
}

/** One request by fetch, node's or undici's. */
export type Send = (
  url: string,
  how: {
    method: string;
    redirect: "error" | "manual";
    signal: AbortSignal;
    headers: Record<string, string>;
    body?: string;
  },
) => Promise<HttpAnswer>;

let shared: Agent | null = null;

/** The same for fetch: undici's own, for node's takes no dispatcher of another version. Connections are shared by all requests. */
export function fetchLeaving(may_leave: MayLeave | undefined): Send {
  shared ??= new Agent();
  const dispatcher = shared.compose(
    (dispatch) => (options, handler) =>
      dispatch(options, {
        onRequestStart(controller, context) {
          if (may_leave?.() === false) throw new HeldBack();
          handler.onRequestStart?.(controller, context);
        },
        onRequestUpgrade: (...args) => handler.onRequestUpgrade?.(...args),
        onResponseStart: (...args) => handler.onResponseStart?.(...args),
        onResponseData: (...args) => handler.onResponseData?.(...args),
        onResponseEnd: (...args) => handler.onResponseEnd?.(...args),
        onResponseError: (...args) => handler.onResponseError?.(...args),
      }),
  );
  return (url, how) => fetch(url, { ...how, dispatcher });
}
