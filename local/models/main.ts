import { parseArgs } from "node:util";
import { MOST_DELAY_MS } from "./api/delays.ts";
import { startModels } from "./server.ts";

/** Runs the model simulator as a program: see `options` for what it takes. The key it asks for is OPENAI_API_KEY; unset, any will do. */
const options = {
  port: { type: "string", default: "0" },
  host: { type: "string", default: "127.0.0.1" },
  model: { type: "string" },
  "stt-ms": { type: "string", default: "0" },
  "first-token-ms": { type: "string", default: "0" },
  "token-ms": { type: "string", default: "0" },
  "first-audio-ms": { type: "string", default: "0" },
} as const;

const LAST_PORT = 65_535;

function wholeNumber(name: string, text: string, most: number): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value > most)
    throw new Error(`--${name} must be a whole number from 0 to ${most}, not "${text}"`);
  return value;
}

async function run(): Promise<void> {
  const { values } = parseArgs({ options });
  const key = process.env["OPENAI_API_KEY"] ?? "";
  const models = await startModels({
    port: wholeNumber("port", values.port, LAST_PORT),
    host: values.host,
    ...(key === "" ? {} : { key }),
    ...(values.model === undefined ? {} : { model: values.model }),
    sttMs: wholeNumber("stt-ms", values["stt-ms"], MOST_DELAY_MS),
    firstTokenMs: wholeNumber("first-token-ms", values["first-token-ms"], MOST_DELAY_MS),
    tokenMs: wholeNumber("token-ms", values["token-ms"], MOST_DELAY_MS),
    firstAudioMs: wholeNumber("first-audio-ms", values["first-audio-ms"], MOST_DELAY_MS),
  });
  const stop = (): void => void models.close().then(() => process.exit(0));
  process.once("SIGTERM", stop);
  process.once("SIGINT", stop);
  process.once("disconnect", stop);
  process.stdout.write(`${JSON.stringify({ event: "ready", url: models.url })}\n`);
}

run().catch((error: unknown) => {
  const taken = error instanceof Error && "code" in error && error.code === "EADDRINUSE";
  const reason = error instanceof Error ? error.message : String(error);
  process.stderr.write(
    taken
      ? "models: the port is taken; choose another with --port, or --port 0 for a free one\n"
      : `models: ${reason}\n`,
  );
  process.exit(1);
});
