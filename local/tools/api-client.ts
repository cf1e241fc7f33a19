import { createClient, login as loginAt, type Client } from "../../deploy/client/client.ts";

export { ApiFailure, NoAnswer } from "../../deploy/client/failures.ts";
export type { Client } from "../../deploy/client/client.ts";

/** Nothing is repeated: what fails at this machine is to be seen. */
const ONCE = { retries: 0 };

/** The client of integrators with a bearer token (none for login), without its repetitions. */
export const apiClient = (base: string, token: string | null): Client => createClient({ base, token, ...ONCE });

/** Logs in; the access token. */
export const login = (base: string, email: string, password: string): Promise<string> =>
  loginAt(base, email, password, ONCE);
