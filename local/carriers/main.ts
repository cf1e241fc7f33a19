import { parseArgs } from "node:util";
import type { PlivoAccount } from "./plivo/plivo-call.ts";
import { DEFAULT_ACCOUNT, startCarrier, type Carrier, type CarrierOptions } from "./server.ts";
import type { TelnyxAccount } from "./telnyx/telnyx-call.ts";
import type { Account } from "./twilio/twilio-call.ts";

const EXIT_LIMIT_MS = 1_800;

function account(text: string): Account {
  const [, sid, authToken] = /^(AC[0-9a-f]{32}):(.+)$/.exec(text) ?? [];
  if (sid === undefined || authToken === undefined)
    throw new Error(`--account must be AC and 32 hex digits, a colon and the token, not "${text.split(":")[0]}:…"`);
  return { sid, authToken };
}

function plivoAccount(text: string): PlivoAccount {
  const [, authId, authToken] = /^(MA[0-9A-Z]{18}):(.+)$/.exec(text) ?? [];
  if (authId === undefined || authToken === undefined)
    throw new Error(
      `--plivo-account must be MA and 18 letters or digits, a colon and the token, not "${text.split(":")[0]}:…"`,
    );
  return { authId, authToken };
}

function telnyxAccount(text: string): TelnyxAccount {
  const [, connectionId, apiKey] = /^([^:]+):(.+)$/.exec(text) ?? [];
  if (connectionId === undefined || apiKey === undefined)
    throw new Error("--telnyx-account must be the connection's id, a colon and the API key");
  return { connectionId, apiKey };
}

function number(name: string, text: string): number {
  const n = Number(text);
  if (text.trim() === "" || !Number.isFinite(n)) throw new Error(`--${name} must be a number, not "${text}"`);
  return n;
}

function optionsOf(argv: string[]): CarrierOptions {
  const { values } = parseArgs({
    args: argv,
    options: {
      port: { type: "string", default: "0" },
      host: { type: "string", default: "127.0.0.1" },
      "time-scale": { type: "string", default: "1" },
      seed: { type: "string", default: "callagent" },
      account: { type: "string", multiple: true, default: [] },
      "plivo-account": { type: "string", multiple: true },
      "telnyx-account": { type: "string", multiple: true },
      "own-number": { type: "string", multiple: true },
      "ledger-file": { type: "string" },
      "end-cuts-speech": { type: "boolean", default: false },
    },
  });
  return {
    port: number("port", values.port),
    host: values.host,
    timeScale: number("time-scale", values["time-scale"]),
    seed: values.seed,
    accounts: values.account.length > 0 ? values.account.map(account) : [DEFAULT_ACCOUNT],
    endCutsSpeech: values["end-cuts-speech"],
    ...(values["plivo-account"] ? { plivoAccounts: values["plivo-account"].map(plivoAccount) } : {}),
    ...(values["telnyx-account"] ? { telnyxAccounts: values["telnyx-account"].map(telnyxAccount) } : {}),
    ...(values["own-number"] ? { ownNumbers: values["own-number"] } : {}),
    ...(values["ledger-file"] === undefined ? {} : { ledgerFile: values["ledger-file"] }),
  };
}

function stopOnSignal(carrier: Carrier): void {
  let stopping = false;
  const stop = (): void => {
    if (stopping) return;
    stopping = true;
    setTimeout(() => process.exit(0), EXIT_LIMIT_MS).unref();
    carrier.close().then(
      () => process.exit(0),
      () => process.exit(0),
    );
  };
  process.on("SIGTERM", stop);
  process.on("SIGINT", stop);
  process.on("disconnect", stop);
}

try {
  const options = optionsOf(process.argv.slice(2));
  const carrier = await startCarrier(options);
  stopOnSignal(carrier);
  console.log(JSON.stringify({ event: "ready", url: carrier.url, telnyx_public_key: carrier.telnyxPublicKey }));
} catch (error) {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  const message = error instanceof Error ? error.message : String(error);
  console.error(
    code === "EADDRINUSE"
      ? `carrier: the port is taken (${message}): choose another with --port`
      : `carrier: ${message}`,
  );
  process.exit(1);
}
