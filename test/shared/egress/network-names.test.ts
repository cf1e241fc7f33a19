import { createSocket } from "node:dgram";
import { once } from "node:events";
import type { LookupAddress } from "node:dns";
import { networkNames } from "../../../shared/egress/network-names.ts";

const ADDRESS = [93, 184, 216, 34];
const TYPE_A = 1;
const QUESTION_AT = 12;

/** Where the question's name ends: its type and class follow. */
function endOfName(query: Buffer): number {
  let at = QUESTION_AT;
  while (query[at]) at += (query[at] ?? 0) + 1;
  return at + 1;
}

/** The answer of a name server (RFC 1035, 4.1): one address, or none of that type. */
function answerOf(query: Buffer): Buffer {
  const end = endOfName(query) + 4;
  const isA = query.readUInt16BE(end - 4) === TYPE_A;
  const head = Buffer.from([query[0] ?? 0, query[1] ?? 0, 0x81, 0x80, 0, 1, 0, isA ? 1 : 0, 0, 0, 0, 0]);
  const record = Buffer.from([0xc0, QUESTION_AT, 0, TYPE_A, 0, 1, 0, 0, 0, 5, 0, 4, ...ADDRESS]);
  return Buffer.concat([head, query.subarray(QUESTION_AT, end), ...(isA ? [record] : [])]);
}

test("names whose servers never answer keep no other name from being resolved", async () => {
  const server = createSocket("udp4");
  let silent = 0;
  server.on("message", (query, { port, address }) => {
    if (query.includes("silent")) silent++;
    else server.send(answerOf(query), port, address);
  });
  server.bind(0, "127.0.0.1");
  await once(server, "listening");
  const resolve = networkNames([`127.0.0.1:${server.address().port}`]);
  let ended = 0;
  for (let n = 0; n < 50; n++)
    resolve(`h${n}.silent.example`, { all: true }, () => {
      ended++;
    });
  const found = await new Promise<LookupAddress[]>((done, failed) => {
    resolve("shop.example", { all: true }, (error, addresses) => {
      if (error) failed(error);
      else done(addresses);
    });
  });
  expect([found, ended]).toEqual([[{ address: ADDRESS.join("."), family: 4 }], 0]);
  expect(silent).toBeGreaterThanOrEqual(50);
  server.close();
});
