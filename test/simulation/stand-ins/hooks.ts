import { registerHooks } from "node:module";

const ROOT = new URL("../../../", import.meta.url);

/** The leaf modules that touch the outside, and what stands for them. Everything above them is the code that ships. */
const REPLACED: Record<string, string> = {
  "shared/mongo.ts": "mongo.ts",
  "shared/crash.ts": "crash.ts",
  "services/dialer/carriers/carrier-registry.ts": "registry.ts",
  "services/webhook/deliveries/webhook-request.ts": "sending.ts",
  "services/conversation/transport/media-server.ts": "media-server.ts",
  "services/conversation/transport/text-relay-leg.ts": "relay-leg.ts",
  "services/conversation/recording/session-recordings.ts": "own-recordings.ts",
  "services/conversation/providers/llm/openai-chat.ts": "openai-chat.ts",
};
const byUrl = new Map(
  Object.entries(REPLACED).map(([real, port]) => [new URL(real, ROOT).href, new URL(port, import.meta.url).href]),
);

/** From now on modules of this thread that import one of the replaced modules get its stand-in; the stand-in itself gets the real one. */
export function replacePorts(): void {
  registerHooks({
    resolve(specifier, context, next) {
      const found = next(specifier, context);
      const port = byUrl.get(found.url);
      return port === undefined || context.parentURL === port ? found : { ...found, url: port, shortCircuit: true };
    },
  });
}
