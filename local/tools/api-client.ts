import type { AnswerOf, Given, Method, PathsWith } from "../../deploy/client/shapes.ts";

/** An answer of the API that was not a success. */
export class ApiFailure extends Error {
  readonly status: number;
  readonly code: string;
  /** The answer's Retry-After; null: it has none. */
  readonly retry_after_seconds: number | null;
  constructor(status: number, code: string, detail: string, retry_after_seconds: number | null = null) {
    super(`${status} ${code}: ${detail}`);
    this.status = status;
    this.code = code;
    this.retry_after_seconds = retry_after_seconds;
  }
}

const secondsIn = (header: string | null): number | null => (header === null ? null : Number(header));

/** What may be left out altogether where nothing in it must be given. */
type GivenAs<G> = object extends G ? [given?: G] : [given: G];

/** The REST API as a client sees it. */
export interface Client {
  /** Sends a request to a path of the OpenAPI document, its values beside it; the parsed answer, or ApiFailure. */
  ask<M extends Method, P extends PathsWith<M>>(
    method: M,
    path: P,
    ...given: GivenAs<Given<M, P>>
  ): Promise<AnswerOf<M, P>>;
}

const TIMEOUT_MS = 20_000;

interface Problem {
  code?: string;
  detail?: string;
  title?: string;
  errors?: { path: string; message: string }[];
}
interface Parts {
  path?: Record<string, unknown>;
  query?: Record<string, unknown>;
  headers?: Record<string, string>;
  body?: unknown;
}

function targetOf(path: string, { path: values = {}, query = {} }: Parts): string {
  const filled = path.replaceAll(/\{([a-z_]+)\}/g, (_, name: string) => encodeURIComponent(String(values[name])));
  const search = new URLSearchParams(
    Object.entries(query)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]): [string, string] => [name, String(value)]),
  ).toString();
  return search === "" ? filled : `${filled}?${search}`;
}

/** A client with a bearer token (none for login). */
export function apiClient(baseUrl: string, token: string | null): Client {
  return {
    async ask<M extends Method, P extends PathsWith<M>>(
      method: M,
      path: P,
      ...given: GivenAs<Given<M, P>>
    ): Promise<AnswerOf<M, P>> {
      const parts: Parts = given[0] ?? {};
      const answer = await fetch(`${baseUrl}${targetOf(path, parts)}`, {
        method,
        signal: AbortSignal.timeout(TIMEOUT_MS),
        headers: {
          ...(token ? { authorization: `Bearer ${token}` } : {}),
          ...(parts.body === undefined ? {} : { "content-type": "application/json" }),
          ...parts.headers,
        },
        ...(parts.body === undefined ? {} : { body: JSON.stringify(parts.body) }),
      });
      const text = await answer.text();
      const parsed: unknown = text === "" ? undefined : JSON.parse(text);
      if (answer.ok) return parsed as AnswerOf<M, P>;
      const problem = (parsed ?? {}) as Problem;
      const faults = (problem.errors ?? []).map((e) => `${e.path} ${e.message}`).join("; ");
      throw new ApiFailure(
        answer.status,
        problem.code ?? "?",
        [problem.detail ?? problem.title ?? text, faults].filter(Boolean).join(" — "),
        secondsIn(answer.headers.get("retry-after")),
      );
    },
  };
}

/** Logs in; the access token. */
export async function login(baseUrl: string, email: string, password: string): Promise<string> {
  const { access_token } = await apiClient(baseUrl, null).ask("POST", "/login", { body: { email, password } });
  return access_token;
}
