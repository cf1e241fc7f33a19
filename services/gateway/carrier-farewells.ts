import type { Bus } from "../../shared/bus/bus.ts";
import type { Farewell } from "../../shared/contracts/dialer.ts";
import { codeOf } from "../../shared/errors.ts";
import { LANGUAGE_FIELD, languageOf } from "../../shared/phrases.ts";
import type { ProcessDeps } from "../../shared/process/process-deps.ts";
import { startLoop, type Loop } from "../../shared/time/loop.ts";
import { statusOf } from "./http/http-errors.ts";

/** The documents are asked for this often; those that were got stay. */
const REFRESH_MS = 60_000;
/** Until there are any, this often. */
const FIRST_MS = 1000;
const FALLBACK_LANGUAGE = "en";
/** From this status on the fault is ours. */
const SERVER_FAULT = 500;
/** Where the address asked is only read for its query. */
const ANY_ORIGIN = "http://localhost";

/** A turn's document may take as long as the conversation's own limit for an answer and a little, ms. */
const TURN_MS = 10_000;
/** The document's way to the carrier and the callee, ms. */
const WAY_MS = 200;
/** Callbacks to which a silent person waits for the document: who answered, and whose media are over. */
const WAITED_FOR: readonly (string | undefined)[] = ["answer", "relay-end", "stream"];
const TURNS: readonly (string | undefined)[] = ["turn", "inbound"];

/** How long the dialer is waited for with a callback of this kind, ms; undefined: as its contract says. */
export const documentWaitMs = (
  kind: string | undefined,
  env: Pick<ProcessDeps["env"], "ANSWER_LIMIT_MS">,
): number | undefined =>
  WAITED_FOR.includes(kind) ? env.ANSWER_LIMIT_MS - WAY_MS : TURNS.includes(kind) ? TURN_MS : undefined;

/** Documents that end a call politely while the dialer is away, or fails. */
export interface Farewells {
  /** The document for this callback after this failure; null: there is none, and the carrier is to call again. */
  after(error: unknown, callback: { provider: string; kind: string; path: string }): Farewell | null;
  /** Begins to ask the dialer for its documents. */
  start(): Loop;
}

/** The dialer's documents, kept here: the gateway knows no carrier's language. */
export function createFarewells({ clock, log }: Pick<ProcessDeps, "clock" | "log">, bus: Bus): Farewells {
  let documents: readonly Farewell[] = [];
  return {
    after(error, { provider, kind, path }) {
      // of what the dialer refuses its answer is the word; a fault of ours is none, and whoever is on the phone is not to be cut off for it
      if (statusOf(codeOf(error), "carrier") < SERVER_FAULT) return null;
      const said = languageOf(new URL(path, ANY_ORIGIN).searchParams.get(LANGUAGE_FIELD) ?? FALLBACK_LANGUAGE);
      const fitting = documents.filter((d) => d.provider === provider && d.kind === kind);
      return (
        fitting.find(({ language }) => language === said) ??
        fitting.find(({ language }) => language === FALLBACK_LANGUAGE) ??
        null
      );
    },
    start: () =>
      startLoop({
        name: "gateway.farewells",
        clock,
        intervalMs: REFRESH_MS,
        pass: async () => {
          const got = await bus.call("dialer.farewells", {}).catch((error: unknown) => {
            log.debug(
              { event: "gateway.no_farewells", code: codeOf(error) },
              "the dialer's documents could not be had",
            );
            return null;
          });
          if (got !== null) ({ documents } = got);
          return documents.length === 0 && got === null ? FIRST_MS : REFRESH_MS;
        },
        onError: () => undefined,
      }),
  };
}
