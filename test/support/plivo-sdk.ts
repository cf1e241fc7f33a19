import { createRequire } from "node:module";

/** An element of the SDK's XML builder. */
export interface SdkElement {
  addSpeak(text: string, attributes?: Record<string, string>): SdkElement;
  addGetInput(attributes: Record<string, string>): SdkElement;
  addWait(attributes: Record<string, string>): SdkElement;
  addRedirect(url: string, attributes: Record<string, string>): SdkElement;
  addHangup(attributes: Record<string, string>): SdkElement;
  addDial(attributes: Record<string, string>): SdkElement;
  addStream(url: string, attributes: Record<string, string>): SdkElement;
  addNumber(number: string): SdkElement;
  toXML(): string;
}

/** The calls of the SDK's client. Parameters in camel case; answers in camel case too. */
export interface SdkCalls {
  create(from: string, to: string, answerUrl: string, params: Record<string, unknown>): Promise<unknown>;
  hangup(uuid: string): Promise<unknown>;
  cancel(uuid: string): Promise<unknown>;
  transfer(uuid: string, params: Record<string, unknown>): Promise<unknown>;
  sendDigits(uuid: string, digits: string): Promise<unknown>;
  record(uuid: string, params: Record<string, unknown>): Promise<unknown>;
  get(uuid: string): Promise<unknown>;
  getLiveCall(uuid: string): Promise<unknown>;
  getQueuedCall(uuid: string): Promise<unknown>;
  listLiveCalls(): Promise<unknown>;
  listQueuedCalls(): Promise<unknown>;
  list(params: Record<string, unknown>): Promise<unknown>;
}

/** A request the SDK would send. */
export interface SdkRequest {
  method: string;
  url: string;
  headers: Record<string, unknown>;
  data: unknown;
}

interface Axios {
  defaults: { adapter: unknown };
}

const require = createRequire(import.meta.url);

/** Plivo's own package, which has no types that compile: what the tests use of it. */
export const plivo = require("plivo") as {
  Client: new (authId: string, authToken: string) => { calls: SdkCalls; recordings: Pick<SdkCalls, "list"> };
  Response: () => SdkElement;
  validateV3Signature: (
    method: string,
    uri: string,
    nonce: string,
    authToken: string,
    signature: string,
    params?: Record<string, unknown>,
  ) => boolean;
};

/** Sends what the SDK sends (whose host is built in) to `origin`, or, without one, only notes it and answers `answer`. Gives the requests, and a function that undoes it. */
export function interceptSdk(
  origin: string | null,
  answer: unknown = {},
): { requests: SdkRequest[]; undo: () => void } {
  const axios = createRequire(require.resolve("plivo"))("axios") as Axios & { default?: Axios };
  const requests: SdkRequest[] = [];
  const used = axios.default ?? axios;
  const before = used.defaults.adapter;
  used.defaults.adapter = async (config: SdkRequest & { url: string }): Promise<unknown> => {
    const { method, url, headers, data } = config;
    requests.push({ method: method.toUpperCase(), url, headers: { ...headers }, data });
    if (origin === null) return { status: 200, statusText: "OK", headers: {}, config, data: answer };
    const sent = await fetch(origin + new URL(url).pathname + new URL(url).search, {
      method: method.toUpperCase(),
      headers: { authorization: String(headers["Authorization"]), "content-type": "application/json" },
      ...(typeof data === "string" && method.toUpperCase() !== "GET" ? { body: data } : {}),
    });
    const text = await sent.text();
    const response = {
      status: sent.status,
      statusText: "",
      headers: {},
      config,
      data: text === "" ? {} : (JSON.parse(text) as unknown),
    };
    if (!sent.ok) throw Object.assign(new Error(`HTTP ${sent.status}`), { response, config, isAxiosError: true });
    return response;
  };
  return {
    requests,
    undo: () => {
      used.defaults.adapter = before;
    },
  };
}
