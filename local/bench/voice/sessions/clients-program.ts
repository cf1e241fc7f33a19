import { quantile } from "../../figures.ts";
import type { Call } from "../answered-calls.ts";
import { converse } from "../concurrent-calls.ts";
import { frameTicker } from "../frame-clock.ts";
import { streamCaller } from "../stream-caller.ts";
import { rehearsedTurn, turnsOf } from "../turn-latency.ts";
import type { ClientsMessage, ClientsRequest } from "./client-messages.ts";
import { loadMeter } from "./load-meter.ts";
import { sharedMs } from "./shared-clock.ts";

/** A few clients of sessions, or callers, in a process of their own, so that they don't take the time of whoever measures, nor of the others. Its parent speaks with it over IPC. */

interface Client extends Call {
  n: number;
}

/** Clients join so far apart: their library takes half a second of a processor to. */
const JOINED_EVERY_MS = 500;
const MS_PER_SECOND = 1000;

const ticker = frameTicker();
const load = loadMeter();
const clients: Client[] = [];

async function answer(asked: ClientsRequest): Promise<ClientsMessage> {
  switch (asked.ask) {
    case "join":
      for (const { lead_id, url, n } of asked.clients) {
        clients.push({ lead_id, n, caller: await streamCaller({ url, ticker, listens: false }) });
        await new Promise((resolve) => setTimeout(resolve, JOINED_EVERY_MS));
      }
      return { told: "done" };
    case "rehearse":
      await Promise.all(clients.map((client) => rehearsedTurn(client, client.n, asked.all)));
      return { told: "done" };
    case "turns": {
      const turns = clients.map(async (client) =>
        (await turnsOf(client, client.n, asked.turns)).map(({ end, answered }) => ({
          lead_id: client.lead_id,
          end: sharedMs(end),
          answered: sharedMs(answered),
        })),
      );
      return { told: "turns", turns: (await Promise.all(turns)).flat() };
    }
    case "talk": {
      const answers: number[] = [];
      const until = performance.now() + asked.seconds * MS_PER_SECOND;
      await Promise.all(clients.map((client) => converse(client, client.n, until, answers)));
      return { told: "talked", answers, gone: clients.filter(({ caller }) => !caller.isOpen).length };
    }
    case "measure":
      return { told: "measured", load: { ...load(), behind_p99_ms: quantile(ticker.late(), 0.99) } };
    case "leave":
      await Promise.all(clients.splice(0).map(({ caller }) => caller.hangUp()));
      return { told: "done" };
  }
}

const tell = (message: ClientsMessage): void => {
  process.send?.(message);
};
process.on("message", (asked: ClientsRequest) => {
  answer(asked).then(tell, (error: unknown) => tell({ told: "failed", why: String(error) }));
});
// whoever measures is gone: nothing is left behind
process.on("disconnect", () => process.exit(0));
tell({ told: "ready" });
