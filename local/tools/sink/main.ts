import { parseArgs } from "node:util";
import { startSink, type Sink, type SinkOptions } from "./sink-server.ts";

/** Runs the webhook sink as a program. A secret is given by --secret, or in SINK_SECRETS, separated by commas, where a process list must not show it. */
const LAST_PORT = 65_535;
const MS_PER_SECOND = 1000;

function optionsOf(argv: string[]): SinkOptions {
  const { values } = parseArgs({
    args: argv,
    options: {
      port: { type: "string", default: "0" },
      host: { type: "string", default: "127.0.0.1" },
      secret: { type: "string", multiple: true, default: [] },
    },
  });
  const port = Number(values.port);
  if (!/^\d+$/.test(values.port) || port > LAST_PORT)
    throw new Error(`--port must be a whole number from 0 to ${LAST_PORT}, not "${values.port}"`);
  const given = (process.env["SINK_SECRETS"] ?? "").split(",");
  const secrets = [...values.secret, ...given].map((s) => s.trim()).filter((s) => s !== "");
  if (secrets.some((s) => !/^whsec_[A-Za-z0-9+/]+=*$/.test(s)))
    throw new Error("a secret must be whsec_ and base64, as the API shows it");
  return { port, host: values.host, secrets, nowSeconds: () => Math.floor(Date.now() / MS_PER_SECOND) };
}

function stopOnSignal(sink: Sink): void {
  const stop = (): void => {
    sink.close().then(
      () => process.exit(0),
      () => process.exit(0),
    );
  };
  process.once("SIGTERM", stop);
  process.once("SIGINT", stop);
  process.once("disconnect", stop);
}

try {
  const sink = await startSink(optionsOf(process.argv.slice(2)));
  stopOnSignal(sink);
  console.log(JSON.stringify({ event: "ready", url: sink.url }));
} catch (error) {
  const taken = error instanceof Error && "code" in error && error.code === "EADDRINUSE";
  console.error(
    taken
      ? "sink: the port is taken; choose another with --port, or --port 0 for a free one"
      : `sink: ${error instanceof Error ? error.message : String(error)}`,
  );
  process.exit(1);
}
