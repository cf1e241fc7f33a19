import type OpenAI from "openai";
import { Agent, Dispatcher1Wrapper, type Dispatcher } from "undici";
import { webBase, type ModelAddress } from "./addresses.ts";

/** Local servers need no key; the package insists on one. */
const NO_KEY = "none";
const CONNECT_TIMEOUT_MS = 3000;
/** A connection stays open between two turns: opening one costs two round trips, or three with TLS. */
const KEEP_ALIVE_MS = 30_000;
/** The package's own time-out; ours are shorter everywhere. */
const REQUEST_TIMEOUT_MS = 120_000;

let connections: Dispatcher | null = null;
/** Node's own fetch uses an older undici, whose interface the wrapper offers. */
const sharedDispatcher = (): Dispatcher =>
  (connections ??= new Dispatcher1Wrapper(
    new Agent({ connect: { timeout: CONNECT_TIMEOUT_MS }, keepAliveTimeout: KEEP_ALIVE_MS }),
  ));

/** A client of an endpoint through the `openai` package, loaded at the first question; its own retries, logs and environment variables are off. */
export function openAiClient(address: Pick<ModelAddress, "base_url" | "key">): () => Promise<OpenAI> {
  let client: Promise<OpenAI> | null = null;
  return () =>
    (client ??= import("openai").then(
      ({ default: Client }) =>
        new Client({
          apiKey: address.key ?? NO_KEY,
          baseURL: address.base_url === undefined ? null : webBase(address.base_url),
          maxRetries: 0,
          timeout: REQUEST_TIMEOUT_MS,
          organization: null,
          project: null,
          logLevel: "off",
          fetchOptions: { dispatcher: sharedDispatcher() },
        }),
    ));
}
