import { parseArgs } from "node:util";
import { DEFAULT_ACCOUNT, startCarrier, type Carrier, type CarrierOptions } from "./server.ts";

const EXIT_LIMIT_MS = 1_800;

/** Two variables that belong together, of the form given; undefined: neither is set. Secrets come by the environment, for arguments are shown to every user of the machine. */
function pairOf(id: string, secret: string, form: RegExp, formed: string): [string, string] | undefined {
  const [who = "", what = ""] = [process.env[id], process.env[secret]];
  if (who === "" && what === "") return undefined;
  if (!form.test(who) || what === "") throw new Error(`${id} must be ${formed}, and ${secret} must be set with it`);
  return [who, what];
}

function accountsOf(): Pick<CarrierOptions, "accounts" | "plivoAccounts" | "telnyxAccounts" | "telnyxSeed"> {
  const twilio = pairOf("TWILIO_ACCOUNT_SID", "TWILIO_AUTH_TOKEN", /^AC[0-9a-f]{32}$/, "AC and 32 hex digits");
  const plivo = pairOf("PLIVO_AUTH_ID", "PLIVO_AUTH_TOKEN", /^MA[0-9A-Z]{18}$/, "MA and 18 letters or digits");
  const telnyx = pairOf("TELNYX_CONNECTION_ID", "TELNYX_API_KEY", /^.+$/, "the connection's id");
  const telnyxSeed = process.env["TELNYX_KEY_SEED"] ?? "";
  return {
    accounts: twilio ? [{ sid: twilio[0], authToken: twilio[1] }] : [DEFAULT_ACCOUNT],
    ...(plivo ? { plivoAccounts: [{ authId: plivo[0], authToken: plivo[1] }] } : {}),
    ...(telnyx ? { telnyxAccounts: [{ connectionId: telnyx[0], apiKey: telnyx[1] }] } : {}),
    ...(telnyxSeed === "" ? {} : { telnyxSeed }),
  };
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
      patience: { type: "string", default: "1" },
      seed: { type: "string", default: "callagent" },
      "own-number": { type: "string", multiple: true },
      "ledger-file": { type: "string" },
      "end-cuts-speech": { type: "boolean", default: false },
    },
  });
  return {
    port: number("port", values.port),
    host: values.host,
    timeScale: number("time-scale", values["time-scale"]),
    patience: number("patience", values.patience),
    seed: values.seed,
    ...accountsOf(),
    endCutsSpeech: values["end-cuts-speech"],
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
