import { decode, decodeCommand, rawArray } from "../bson/bson-reader.ts";
import type { Doc } from "../bson/values.ts";

/** MongoDB's bound for one message, bytes. */
export const MAX_MESSAGE_BYTES = 48_000_000;

const HEADER_BYTES = 16;
const OP_REPLY = 1;
const OP_QUERY = 2004;
const OP_MSG = 2013;
const CHECKSUM_PRESENT = 1;
const MORE_TO_COME = 2;
/** Bits 0–15 of OP_MSG are required: a message with an unknown one must be refused. */
const REQUIRED_FLAGS = 0xffff;

/** A request as it came over the wire (https://www.mongodb.com/docs/manual/reference/mongodb-wire-protocol/). */
export interface Request {
  requestId: number;
  opcode: number;
  /** The command document; document sequences of OP_MSG kind 1 are in `sequences`. */
  command: Doc;
  /** Named sequences of raw documents; `documents` of the body is here as well. */
  sequences: Map<string, Buffer[]>;
  /** False for moreToCome: the client does not wait for an answer. */
  wantsReply: boolean;
}

/** A message that breaks the protocol; the connection is closed. */
export class WireError extends Error {}

/** The length of the first message in `buf`, or undefined while its header is incomplete. Errors: WireError. */
export function messageLength(buf: Buffer): number | undefined {
  if (buf.length < 4) return undefined;
  const length = buf.readInt32LE(0);
  if (length < HEADER_BYTES || length > MAX_MESSAGE_BYTES)
    throw new WireError(`message length ${length} is outside 16..${MAX_MESSAGE_BYTES}`);
  return length;
}

function readSequence(buf: Buffer, from: number, to: number): [string, Buffer[]] {
  const nameEnd = buf.indexOf(0, from);
  if (nameEnd === -1 || nameEnd >= to) throw new WireError("a document sequence has no name");
  const name = buf.toString("utf8", from, nameEnd);
  const docs: Buffer[] = [];
  let at = nameEnd + 1;
  while (at < to) {
    const length = buf.readInt32LE(at);
    if (length < 5 || at + length > to) throw new WireError("a document sequence overruns its section");
    docs.push(buf.subarray(at, at + length));
    at += length;
  }
  return [name, docs];
}

function parseMsg(buf: Buffer): Request {
  const flags = buf.readUInt32LE(HEADER_BYTES);
  if ((flags & REQUIRED_FLAGS & ~(CHECKSUM_PRESENT | MORE_TO_COME)) !== 0)
    throw new WireError(`unknown required OP_MSG flags 0x${flags.toString(16)}`);
  const end = (flags & CHECKSUM_PRESENT) === 0 ? buf.length : buf.length - 4;
  const sequences = new Map<string, Buffer[]>();
  let command: Doc | undefined;
  let at = HEADER_BYTES + 4;
  while (at < end) {
    const kind = buf[at++];
    const length = buf.readInt32LE(at);
    if (length < 5 || at + length > end) throw new WireError("a section overruns its message");
    if (kind === 0) {
      if (command !== undefined) throw new WireError("an OP_MSG holds more than one body");
      const body = buf.subarray(at, at + length);
      command = decodeCommand(body);
      if (command["insert"] !== undefined) {
        const docs = rawArray(body, "documents");
        if (docs !== undefined) sequences.set("documents", docs);
      }
    } else if (kind === 1) {
      const [name, docs] = readSequence(buf, at + 4, at + length);
      sequences.set(name, docs);
    } else throw new WireError(`unknown OP_MSG section kind ${kind}`);
    at += length;
  }
  if (command === undefined) throw new WireError("an OP_MSG holds no body");
  return {
    requestId: buf.readInt32LE(4),
    opcode: OP_MSG,
    command,
    sequences,
    wantsReply: (flags & MORE_TO_COME) === 0,
  };
}

function parseQuery(buf: Buffer): Request {
  const nameEnd = buf.indexOf(0, HEADER_BYTES + 4);
  if (nameEnd === -1) throw new WireError("an OP_QUERY names no collection");
  const at = nameEnd + 9;
  const command = decode(buf.subarray(at, at + buf.readInt32LE(at)));
  const ns = buf.toString("utf8", HEADER_BYTES + 4, nameEnd);
  if (!ns.endsWith(".$cmd")) throw new WireError("OP_QUERY is only answered for the handshake");
  command["$db"] ??= ns.slice(0, -".$cmd".length);
  return { requestId: buf.readInt32LE(4), opcode: OP_QUERY, command, sequences: new Map(), wantsReply: true };
}

/** Parses one whole message. Errors: WireError (close the connection) or StoreError InvalidBSON. */
export function parseMessage(buf: Buffer): Request {
  const opcode = buf.readInt32LE(12);
  if (opcode === OP_MSG) return parseMsg(buf);
  if (opcode === OP_QUERY) return parseQuery(buf);
  throw new WireError(`opcode ${opcode} is not supported (only OP_MSG, and OP_QUERY for the handshake)`);
}

let nextResponseId = 1;

/** Frames an encoded answer for the request's protocol (OP_MSG, or OP_REPLY to an OP_QUERY). */
export function frameReply(request: Pick<Request, "requestId" | "opcode">, body: Uint8Array): Buffer {
  const query = request.opcode === OP_QUERY;
  const prefix = query ? HEADER_BYTES + 20 : HEADER_BYTES + 5;
  const out = Buffer.alloc(prefix + body.length);
  out.writeInt32LE(out.length, 0);
  out.writeInt32LE(nextResponseId, 4);
  nextResponseId = (nextResponseId + 1) & 0x7fffffff;
  out.writeInt32LE(request.requestId, 8);
  out.writeInt32LE(query ? OP_REPLY : OP_MSG, 12);
  if (query) {
    out.writeInt32LE(8, HEADER_BYTES); // AwaitCapable
    out.writeInt32LE(1, HEADER_BYTES + 16); // one document
  }
  out.set(body, prefix);
  return out;
}
