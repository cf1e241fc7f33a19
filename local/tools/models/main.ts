import { Failure } from "../../../shared/errors.ts";
import { readEnv, type Env } from "../../../shared/process/env.ts";
import { runCommand, UsageError } from "../../../shared/process/command-line.ts";
import { systemClock } from "../../../shared/time/clock.ts";
import { MODELS } from "../commands.ts";
import { checkEndpoints, endpointsOf, type Endpoint } from "./endpoints.ts";
import { findingsText } from "./findings.ts";

/** The endpoints that are named; a variable that is missing is the caller's mistake. */
function namedBy(env: Env): Endpoint[] {
  try {
    return endpointsOf(env);
  } catch (error) {
    throw error instanceof Failure ? new UsageError(error.message) : error;
  }
}

/** `npm run models -- check`: does each model endpoint do what a conversation needs, and how fast? */
await runCommand(MODELS, async ({ values: { language, json } }) => {
  const env = readEnv(process.env);
  const endpoints = namedBy(env);
  if (endpoints.length === 0)
    throw new UsageError(
      "No model is named: set OPENAI_API_KEY and OPENAI_MODEL, or the other variables of docs/models.md.",
    );
  const all = await checkEndpoints(env, endpoints, { clock: systemClock, language }, (done) => {
    if (!json) console.log(findingsText([done]));
  });
  if (json) console.log(JSON.stringify(all, null, 2));
  return all.every(({ findings }) => findings.every(({ ok }) => ok)) ? 0 : 1;
});
