import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { connect, type NatsConnection } from "nats";
import { busServers, type BusAddress } from "../../shared/bus/bus-address.ts";
import { natsOptions } from "../../shared/bus/nats-options.ts";
import { VARIABLES, type Variable } from "../../shared/process/variables.ts";

/**
 * The containers' health check: exit 0 when the service process of this container answers, 1 with a line saying what is wrong.
 * With a bus it sends Moleculer's PING (protocol 5) and waits for the PONG of this container's node: its event loop turns and it is on the bus.
 * With `--http <port><path>`, or without a bus, it asks the process over HTTP, where every answer below 500 is a sign of health.
 */
const ANSWER_MS = 3000;
const PROTOCOL = "5";
const ADDRESS = [
  "TRANSPORTER",
  "NATS_CA_FILE",
  "NATS_CERT_FILE",
  "NATS_KEY_FILE",
  "NATS_NKEY_FILE",
  "NATS_CREDS_FILE",
] as const satisfies readonly (keyof BusAddress)[];

const setting = (name: keyof typeof VARIABLES): string => {
  const variable: Variable = VARIABLES[name];
  return process.env[name]?.trim() || String(variable.default ?? "");
};

/** Node ids of this container, behind the service's name: the one it was given, or host name and process id (shared/process/node-id.ts). */
function isOurs(node: string): boolean {
  const id = node.slice(node.indexOf(".") + 1);
  const given = setting("NODE_ID");
  return given === "" ? id.startsWith(`${hostname().toLowerCase()}-`) : [node, id].includes(given);
}

async function pong(nats: NatsConnection): Promise<boolean> {
  const me = `health.${randomUUID()}`;
  const prefix = `MOL-${setting("NAMESPACE")}`;
  const answers = nats.subscribe(`${prefix}.PONG.${me}`);
  nats.publish(`${prefix}.PING`, JSON.stringify({ ver: PROTOCOL, sender: me, id: randomUUID(), time: Date.now() }));
  for await (const message of answers) {
    const { sender } = message.json<{ sender?: string }>();
    if (sender !== undefined && isOurs(sender)) return true;
  }
  return false;
}

async function askBus(address: BusAddress): Promise<string | null> {
  const { issues } = busServers(address);
  if (issues.length > 0) return issues.join("; ");
  const nats = await connect({ ...natsOptions(address), timeout: ANSWER_MS, reconnect: false });
  const late = setTimeout(() => {
    void nats.close();
  }, ANSWER_MS);
  try {
    return (await pong(nats)) ? null : `no node of this container answered on the bus within ${ANSWER_MS / 1000} s`;
  } finally {
    clearTimeout(late);
    await nats.close();
  }
}

async function askHttp(address: string): Promise<string | null> {
  const answer = await fetch(`http://127.0.0.1:${address}`, { signal: AbortSignal.timeout(ANSWER_MS) });
  return answer.status < 500 ? null : `the answer is ${answer.status}: ${(await answer.text()).slice(0, 500)}`;
}

function check(): Promise<string | null> {
  const [flag, address] = process.argv.slice(2);
  if (flag === "--http" && address !== undefined) return askHttp(address);
  const set = ADDRESS.map((name) => [name, setting(name)] as const).filter(([, value]) => value !== "");
  const bus: BusAddress = Object.fromEntries(set);
  return bus.TRANSPORTER === undefined ? askHttp(`${setting("HTTP_PORT")}/health/live`) : askBus(bus);
}

/** Neither the bus's address nor its password may end up in Docker's health log. */
const reasonOf = (error: unknown): string =>
  error instanceof Error ? (error.cause instanceof Error ? error.cause.message : error.message) : String(error);

const fault = await check().catch(reasonOf);
if (fault !== null) process.stderr.write(`${fault}\n`);
process.exit(fault === null ? 0 : 1);
