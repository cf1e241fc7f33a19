import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Clock } from "../../shared/time/clock.ts";
import { createScripts } from "../people/step-script.ts";
import { createExchange } from "./exchange/exchange.ts";
import { createFaults } from "./exchange/faults.ts";
import { readRequest, sendReply, type Reply, type Request } from "./http/messages.ts";
import { answerInbound } from "./exchange/inbound-calls.ts";
import { openLedger } from "./ledger/ledger.ts";
import { answerLedger, streamLedger } from "./ledger/ledger-routes.ts";
import type { PlivoAccount } from "./plivo/plivo-call.ts";
import { createPlivo } from "./plivo/provider.ts";
import { createTelnyx } from "./telnyx/provider.ts";
import type { TelnyxAccount } from "./telnyx/telnyx-call.ts";
import { isScale, startTime, type SimTime } from "./exchange/simulated-time.ts";
import { createTwilio, type TwilioOptions } from "./twilio/provider.ts";
import type { Account } from "./twilio/twilio-call.ts";

/** How to start the simulated carrier. */
export interface CarrierOptions {
  /** 0 takes a free port. */
  port: number;
  /** Address to listen on; absent: this machine only. */
  host?: string;
  /** 1 is real time; 20 makes 20 simulated seconds pass in one. */
  timeScale: number;
  /** What is real time to it; absent: the machine's. */
  clock?: Clock;
  /** Same seed, same people, same words. */
  seed: string;
  /** So many times longer than in life people wait for the service, for a machine that is short of time; absent: 1. */
  patience?: number;
  /** Who may use the API. */
  accounts: readonly Account[];
  /** Who may use Plivo's API; absent: its default account. */
  plivoAccounts?: readonly PlivoAccount[];
  /** Who may use Telnyx's API; absent: its default account. */
  telnyxAccounts?: readonly TelnyxAccount[];
  /** What the key pair comes from that signs Telnyx's callbacks; absent: `seed`, which whoever reads this can sign with. */
  telnyxSeed?: string;
  /** Numbers calls may come from (E.164); absent: any. */
  ownNumbers?: readonly string[];
  /** Keeps the ledger in this file, one JSON object per line, and reads it back at the start. */
  ledgerFile?: string;
  /** ConversationRelay's `end` cuts what is being said; by default it is said first. */
  endCutsSpeech?: boolean;
}

/** A carrier at work. */
export interface Carrier {
  url: string;
  /** Checks the signatures of Telnyx's callbacks (base64). */
  telnyxPublicKey: string;
  close(): Promise<void>;
}

/** The account used when none is configured. */
export const DEFAULT_ACCOUNT: Account = { sid: `AC${"0123456789abcdef".repeat(2)}`, authToken: "simulated-auth-token" };

/** The account of Plivo's used when none is configured. */
export const DEFAULT_PLIVO_ACCOUNT: PlivoAccount = {
  authId: "MASIMULATED0000000AA",
  authToken: "simulated-auth-token",
};

/** The account of Telnyx's used when none is configured. */
export const DEFAULT_TELNYX_ACCOUNT: TelnyxAccount = { connectionId: "1684641123236054244", apiKey: "KEYsimulated" };

const HOST = "127.0.0.1";

/** Every carrier's protocol, asked in order. */
function openProtocols(options: CarrierOptions, given: Pick<TwilioOptions, "exchange" | "time" | "ledger" | "faults">) {
  const parts = { ...given, ownNumbers: options.ownNumbers ?? null, endCutsSpeech: options.endCutsSpeech ?? false };
  const telnyx = createTelnyx({
    ...parts,
    accounts: options.telnyxAccounts ?? [DEFAULT_TELNYX_ACCOUNT],
    seed: options.telnyxSeed ?? options.seed,
  });
  const protocols = {
    twilio: createTwilio({ ...parts, accounts: options.accounts }),
    plivo: createPlivo({ ...parts, accounts: options.plivoAccounts ?? [DEFAULT_PLIVO_ACCOUNT] }),
    telnyx,
  };
  return {
    telnyxPublicKey: telnyx.publicKey,
    desks: Object.fromEntries(Object.entries(protocols).map(([carrier, { inbound }]) => [carrier, inbound])),
    answer(request: Request): Reply | null {
      for (const protocol of Object.values(protocols)) {
        const reply = protocol.answer(request);
        if (reply) return reply;
      }
      return null;
    },
    close() {
      for (const protocol of Object.values(protocols)) protocol.close();
    },
  };
}

const listening = (server: Server, port: number, host: string): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, resolve);
  });

/** For a while nothing listens: who connects is refused by the system, as when a carrier's host is gone. */
function refuseFor(server: Server, host: string, time: SimTime, ms: number): void {
  const address = server.address();
  if (typeof address !== "object" || address === null) return;
  server.close();
  server.closeAllConnections();
  time.after(
    0,
    () => {
      server.listen(address.port, host);
    },
    ms,
  );
}

/**
 * Starts the simulated carrier. Rejects with the system's error when the port is taken (EADDRINUSE) or the ledger file cannot
 * be opened, and with RangeError for a time scale that is not above 0 or a patience below 1.
 */
export async function startCarrier(options: CarrierOptions): Promise<Carrier> {
  if (!isScale(options.timeScale))
    throw new RangeError(`the time scale must be above 0 and at most 10000, not ${options.timeScale}`);
  const { patience = 1 } = options;
  if (!(patience >= 1 && patience <= 100))
    throw new RangeError(`the patience must be at least 1 and at most 100, not ${patience}`);
  const host = options.host ?? HOST;
  const time = startTime(options.timeScale, options.clock);
  const ledger = openLedger(options.ledgerFile, () => time.clock.now());
  const faults = createFaults();
  const scripts = createScripts();
  const exchange = createExchange({ time, ledger, faults, scripts, seed: options.seed, patience });
  const protocols = openProtocols(options, { exchange, time, ledger, faults });

  const answer = (request: Request): Reply =>
    protocols.answer(request) ??
    answerInbound(protocols.desks, request) ??
    answerLedger({ ledger, faults, scripts, time, liveCalls: () => exchange.live() }, request);
  const serve = async (message: IncomingMessage, response: ServerResponse): Promise<void> => {
    const request = await readRequest(message);
    if (!request) return sendReply(response, { status: 413, body: { message: "the request is too large" } });
    if (request.path === "/ledger/stream" && request.method === "GET") return streamLedger(ledger, request, response);
    const reply = answer(request);
    const refusing = faults.take("refuse_connections", "");
    if (refusing) response.once("close", () => refuseFor(server, host, time, refusing.seconds * 1000));
    if (reply.holdMs) time.after(0, () => sendReply(response, reply), reply.holdMs);
    else sendReply(response, reply);
  };
  const server = createServer((message, response) => {
    serve(message, response).catch((error: unknown) => {
      if (!response.headersSent)
        sendReply(response, { status: 500, body: { message: `the simulator failed: ${String(error)}` } });
    });
  });
  try {
    await listening(server, options.port, host);
  } catch (error) {
    time.close();
    await ledger.close();
    throw error;
  }
  const { port } = server.address() as AddressInfo;

  return {
    url: `http://${host}:${port}`,
    telnyxPublicKey: protocols.telnyxPublicKey,
    async close() {
      exchange.close();
      protocols.close();
      time.close();
      await new Promise((resolve) => {
        server.close(resolve);
        server.closeAllConnections();
      });
      await ledger.close();
    },
  };
}
