import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { ApiFailure, type Client } from "../api-client.ts";
import type { Sample } from "../sample/seed.ts";
import { talkLink } from "./session-lead.ts";

/** A page of `npm start` alone: a button for each sample template begins a fresh test lead and leads to its page. The product has no such door. */

const HOST = "127.0.0.1";
const HEADERS = {
  "Content-Type": "text/html; charset=utf-8",
  "Content-Security-Policy": "default-src 'none'; form-action *; frame-ancestors 'none'; base-uri 'none'",
  "Cache-Control": "no-store",
  "Referrer-Policy": "no-referrer",
};
const MOVED = 303;
/** Leads that are begun in a minute; more are a program's. */
const MOST_A_MINUTE = 30;
const MINUTE_MS = 60_000;

const escaped = (text: string): string => text.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);

const pageOf = (templates: Sample["templates"], said: string): string =>
  `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>Talk to an agent</title><main><h1>Talk to an agent</h1><p>${escaped(said)}</p>${templates
    .map(
      ({ id, name }) =>
        `<form method="post" action="/${escaped(id)}"><p><button>Talk to ${escaped(name)}</button></p></form>`,
    )
    .join("")}</main></html>`;

const SAID =
  "Each button begins a test session of a sample template; no phone rings. With the simulators the agent speaks tones in place of words; its words are on the page.";

/** Pages of other origins may neither send the form nor, by a name of their own for this address, read the answer. */
const isOwn = ({ headers }: IncomingMessage, host: string): boolean =>
  headers.host === host && (headers.origin === undefined || headers.origin === `http://${host}`);

/** What the door leads to. */
export interface TalkDoor {
  url: string;
  close(): void;
}

/** Its address, on a port of this machine. */
export const talkAddress = (port: number): string => `http://${HOST}:${port}/`;

/** Opens it on a port of this machine. */
export async function openTalkDoor(client: () => Promise<Client>, sample: Sample, port: number): Promise<TalkDoor> {
  const host = `${HOST}:${port}`;
  let begun: number[] = [];
  const begin = async (id: string): Promise<string | null> => {
    begun = begun.filter((at) => performance.now() - at < MINUTE_MS);
    if (begun.length >= MOST_A_MINUTE || !sample.templates.some((t) => t.id === id)) return null;
    begun.push(performance.now());
    const asked = await client();
    const template = await asked.ask("GET", "/templates/{id}", { path: { id } });
    return (await talkLink(asked, template, sample.merchant_id, {})).url;
  };
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (!isOwn(request, host)) return void response.writeHead(403, HEADERS).end();
    if (request.method !== "POST") return void response.writeHead(200, HEADERS).end(pageOf(sample.templates, SAID));
    const link = await begin((request.url ?? "").slice(1));
    if (link === null) return void response.writeHead(429, HEADERS).end(pageOf(sample.templates, "Wait a minute."));
    response.writeHead(MOVED, { Location: link, "Cache-Control": "no-store" }).end();
  };
  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => {
      const said = error instanceof ApiFailure ? error.message : "callagent does not answer; try again.";
      response.writeHead(502, HEADERS).end(pageOf(sample.templates, said));
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, HOST, resolve);
  });
  // the product's end is waited for, not a browser's connection to this page
  server.unref();
  return { url: talkAddress(port), close: () => server.closeAllConnections() };
}
