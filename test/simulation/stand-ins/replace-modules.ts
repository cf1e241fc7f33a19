import { registerHooks } from "node:module";

const ROOT = new URL("../../../", import.meta.url);

/** The leaf modules that touch the outside, and their stand-ins. Everything above them is the code that ships. */
export const REPLACED: Record<string, string> = {
  "shared/database/mongo.ts": "mongo.ts",
  "shared/process/crash.ts": "crash.ts",
  "services/dialer/carriers/carrier-registry.ts": "carrier-registry.ts",
  "services/webhook/deliveries/webhook-request.ts": "webhook-request.ts",
  "services/conversation/transport/media-server.ts": "media-server.ts",
  "services/conversation/transport/text-relay-leg.ts": "text-relay-leg.ts",
  "services/conversation/recording/session-recordings.ts": "session-recordings.ts",
  "services/conversation/providers/llm/openai-chat.ts": "openai-chat.ts",
};
const byUrl = new Map(
  Object.entries(REPLACED).map(([real, standIn]) => [new URL(real, ROOT).href, new URL(standIn, import.meta.url).href]),
);

/** From now on modules of this thread that import one of the replaced modules get its stand-in; the stand-in itself gets the real one. */
export function replaceModules(): void {
  registerHooks({
    resolve(specifier, context, next) {
      const found = next(specifier, context);
      const standIn = byUrl.get(found.url);
      return standIn === undefined || context.parentURL === standIn
        ? found
        : { ...found, url: standIn, shortCircuit: true };
    },
  });
}
