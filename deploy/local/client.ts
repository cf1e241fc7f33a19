/** An answer of the API that was not a success. */
export class ApiFailure extends Error {
  readonly status: number;
  readonly code: string;
  constructor(status: number, code: string, detail: string) {
    super(`${status} ${code}: ${detail}`);
    this.status = status;
    this.code = code;
  }
}

/** The REST API as a client sees it. */
export interface Client {
  /** Sends a request; the parsed answer, or ApiFailure. */
  ask<T>(method: "GET" | "POST", path: string, body?: unknown): Promise<T>;
}

const TIMEOUT_MS = 20_000;

interface Problem { code?: string; detail?: string; title?: string; errors?: { path: string; message: string }[] }

/** A client with a bearer token (none for login). */
export function apiClient(baseUrl: string, token: string | null): Client {
  return {
    async ask<T>(method: "GET" | "POST", path: string, body?: unknown): Promise<T> {
      const answer = await fetch(`${baseUrl}${path}`, {
        method, signal: AbortSignal.timeout(TIMEOUT_MS),
        headers: { ...(token ? { authorization: `Bearer ${token}` } : {}), ...(body === undefined ? {} : { "content-type": "application/json" }) },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = await answer.text();
      const parsed: unknown = text === "" ? null : JSON.parse(text);
      if (answer.ok) return parsed as T;
      const problem = (parsed ?? {}) as Problem;
      const faults = (problem.errors ?? []).map((e) => `${e.path} ${e.message}`).join("; ");
      throw new ApiFailure(answer.status, problem.code ?? "?", [problem.detail ?? problem.title ?? text, faults].filter(Boolean).join(" — "));
    },
  };
}

/** Logs in; the access token. */
export async function login(baseUrl: string, email: string, password: string): Promise<string> {
  const { access_token } = await apiClient(baseUrl, null).ask<{ access_token: string }>("POST", "/login", { email, password });
  return access_token;
}
