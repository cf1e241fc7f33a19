import { randomBytes } from "node:crypto";
import { WebSocket } from "ws";
import { isRecord, textOf } from "../../../shared/json.ts";

/** The addresses that a carrier uses, each with what it must lead to on this machine. */
export interface Addresses {
  publicHttp: string;
  http: string;
  publicWs: string;
  ws: string;
}

const ASK_MS = 10_000;
const TOKEN_BYTES = 16;

/** fetch says no more than that it failed; its cause says why. */
function reasonOf(error: unknown): string {
  if (!isRecord(error)) return String(error);
  if (isRecord(error["cause"])) return reasonOf(error["cause"]);
  return textOf(error["code"]) || textOf(error["message"]) || "it does not answer";
}

/** What is found at an address: the text, or in words why there is none. */
async function pageAt(url: string): Promise<{ text: string } | { why: string }> {
  try {
    const answer = await fetch(`${url}/`, { signal: AbortSignal.timeout(ASK_MS), redirect: "manual" });
    const text = await answer.text();
    return answer.ok ? { text } : { why: `it answers ${answer.status}` };
  } catch (error) {
    return { why: reasonOf(error) };
  }
}

/** How a WebSocket with a token that nobody knows is refused there: a status, or in words why it was not even asked. */
const refusalAt = (url: string, token: string): Promise<number | string> =>
  new Promise((resolve) => {
    const socket = new WebSocket(`${url}/media/PROVIDER_ONE/${token}`, { handshakeTimeout: ASK_MS });
    socket.on("unexpected-response", (_request, answer) => {
      resolve(answer.statusCode ?? 0);
      socket.terminate();
    });
    socket.on("open", () => {
      resolve("it opens a socket for anybody");
      socket.terminate();
    });
    socket.on("error", (error) => resolve(error.message));
  });

/** Asks the public addresses as a carrier would, from outside and back; a sentence for each that does not lead here. */
export async function addressFaults({ publicHttp, http, publicWs, ws }: Addresses): Promise<string[]> {
  const token = randomBytes(TOKEN_BYTES).toString("hex");
  const [outside, here, refused, expected] = await Promise.all([
    pageAt(publicHttp),
    pageAt(http),
    refusalAt(publicWs, token),
    refusalAt(ws, token),
  ]);
  const page = "why" in outside ? outside.why : "text" in here && here.text === outside.text ? null : "another program answers there"; // prettier-ignore
  const socket =
    refused === expected ? null : typeof refused === "string" ? refused : `a WebSocket is answered with ${refused}`;
  return [
    ...(page === null ? [] : [`PUBLIC_HTTP_URL ${publicHttp} does not lead to ${http}: ${page}.`]),
    ...(socket === null ? [] : [`PUBLIC_WS_URL ${publicWs} does not lead to ${ws}: ${socket}.`]),
  ];
}
