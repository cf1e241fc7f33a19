import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { failureOf, noAnswerOf, NoAnswer } from "./failures.ts";
import { waitBeforeRetry } from "./retries.ts";
import type { AnswerOf, Given, Method, PathsWith } from "./shapes.ts";

/** How a client reaches the API. */
export interface ClientOptions {
  /** The address of the API, with `/agent/voice/callagent`. */
  base: string;
  /** A token of `POST /login` or `POST /s2s-token`, or where to get it for each request; null: requests without one. */
  token: string | (() => Promise<string>) | null;
  /** Longest wait for the answer of one try, ms. Default: 20 s. */
  timeout_ms?: number;
  /** Most tries after the first, of a request that may be repeated. Default: 3. */
  retries?: number;
  /** Ends requests and waits. */
  signal?: AbortSignal;
  /** Sends a request; default: fetch. */
  fetch?: typeof fetch;
  /** Waits before the next try; default: a timer. */
  wait?: (ms: number) => Promise<void>;
  /** 0 to 1; default: Math.random. */
  chance?: () => number;
  /** Makes an Idempotency-Key; default: a random UUID. */
  newKey?: () => string;
}

/** What may be left out altogether where nothing in it must be given. */
export type GivenAs<G> = object extends G ? [given?: G] : [given: G];

/** The REST API as a client sees it. */
export interface Client {
  /**
   * Sends a request to a path of the OpenAPI document, its values beside it; the parsed answer.
   * What fails for the moment is tried again where that is safe; a push carries an Idempotency-Key, so that it is. ApiFailure, NoAnswer.
   */
  ask<M extends Method, P extends PathsWith<M>>(
    method: M,
    path: P,
    ...given: GivenAs<Given<M, P>>
  ): Promise<AnswerOf<M, P>>;
}

const TIMEOUT_MS = 20_000;
const RETRIES = 3;
/** Pushes: the server keeps their Idempotency-Key for 24 h. */
const KEYED: ReadonlySet<string> = new Set(["/leads", "/leads/bulk"]);
const KEY = "idempotency-key";

interface Parts {
  path?: Record<string, unknown>;
  query?: Record<string, unknown>;
  headers?: Record<string, string>;
  body?: unknown;
}

/** A path of the document with its values and query. */
export function targetOf(path: string, { path: values = {}, query = {} }: Parts): string {
  const filled = path.replaceAll(/\{([a-z_]+)\}/g, (_, name: string) => encodeURIComponent(String(values[name])));
  const search = new URLSearchParams(
    Object.entries(query)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]): [string, string] => [name, String(value)]),
  ).toString();
  return search === "" ? filled : `${filled}?${search}`;
}

const keyIn = (headers: Readonly<Record<string, string>>): boolean =>
  Object.keys(headers).some((name) => name.toLowerCase() === KEY);

/** A body as JSON; undefined: there is none, or a refusal that is no JSON. NoAnswer where a success is no JSON. */
export function parsedOf(text: string, ok: boolean, base: string): unknown {
  if (text === "") return undefined;
  try {
    return JSON.parse(text);
  } catch (error) {
    if (!ok) return undefined;
    throw new NoAnswer(
      `What answers at ${base} is no callagent; the address ends with /agent/voice/callagent.`,
      error,
      { answered: true },
    );
  }
}

/** The header by which the service knows who asks. */
export async function authorizationOf({ token }: Pick<ClientOptions, "token">): Promise<{ authorization?: string }> {
  const bearer = typeof token === "function" ? await token() : token;
  return bearer ? { authorization: `Bearer ${bearer}` } : {};
}

/** Waits as the options say, or by a timer that their signal ends. */
export const waitOf = ({ signal, wait }: Pick<ClientOptions, "signal" | "wait">): ((ms: number) => Promise<void>) =>
  wait ?? ((ms) => delay(ms, undefined, signal === undefined ? {} : { signal }));

/** Sends a request once; the parsed answer. ApiFailure, NoAnswer. */
async function once(options: ClientOptions, method: Method, path: string, parts: Parts): Promise<unknown> {
  const { base, timeout_ms = TIMEOUT_MS, signal } = options;
  const authorization = await authorizationOf(options);
  const clock = AbortSignal.timeout(timeout_ms);
  const where = `${method} ${base}${path}`;
  let answer: Response;
  let text: string;
  try {
    answer = await (options.fetch ?? fetch)(`${base}${targetOf(path, parts)}`, {
      method,
      signal: signal === undefined ? clock : AbortSignal.any([clock, signal]),
      headers: {
        ...authorization,
        ...(parts.body === undefined ? {} : { "content-type": "application/json" }),
        ...parts.headers,
      },
      ...(parts.body === undefined ? {} : { body: JSON.stringify(parts.body) }),
    });
    text = await answer.text();
  } catch (error) {
    signal?.throwIfAborted();
    throw noAnswerOf(error, where, timeout_ms);
  }
  const parsed = parsedOf(text, answer.ok, base);
  if (answer.ok) return parsed;
  throw failureOf(answer.status, text, parsed, answer.headers);
}

/** Makes a client. It keeps nothing between requests. */
export function createClient(options: ClientOptions): Client {
  const { retries = RETRIES, chance = Math.random, newKey = randomUUID } = options;
  const wait = waitOf(options);
  const withRetries = async (method: Method, path: string, given: Parts): Promise<unknown> => {
    const headers = { ...given.headers };
    if (retries > 0 && method === "POST" && KEYED.has(path) && !keyIn(headers)) headers[KEY] = newKey();
    const repeatable = method !== "POST" || keyIn(headers);
    for (let tries = 1; ; tries++)
      try {
        return await once(options, method, path, { ...given, headers });
      } catch (error) {
        const ms = waitBeforeRetry(error, { repeatable, tries, retries }, chance());
        if (ms === null) throw error;
        await wait(ms);
      }
  };
  return {
    ask: async <M extends Method, P extends PathsWith<M>>(method: M, path: P, ...given: GivenAs<Given<M, P>>) =>
      // the document says what this request is answered with
      (await withRetries(method, path, given[0] ?? {})) as AnswerOf<M, P>,
  };
}

/** Exchanges e-mail and password for an access token. ApiFailure, NoAnswer. */
export async function login(
  base: string,
  email: string,
  password: string,
  more: Partial<ClientOptions> = {},
): Promise<string> {
  const { access_token } = await createClient({ ...more, base, token: null }).ask("POST", "/login", {
    body: { email, password },
  });
  return access_token;
}
