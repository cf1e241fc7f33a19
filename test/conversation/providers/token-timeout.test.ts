import { pino } from "pino";
import { ModelError } from "../../../services/conversation/providers/port.ts";
import { DeploymentModels } from "../../../services/conversation/providers/deployment-models.ts";
import { readEnv } from "../../../shared/process/env.ts";
import { startScriptedModel } from "../fixtures/scripted-model.ts";
import { until } from "../../../local/harness/stage.ts";
import { virtualClock } from "../../fixtures/virtual-clock.ts";

/** A customer on the line is kept waiting 4 s at most; a talk that is over may be judged by a model that thinks first. */

const HELLO = { messages: [{ role: "user" as const, content: "Hello?" }], tools: [] };

test.each([
  ["chat", 4000],
  ["evaluation", 20_000],
] as const)("the model of a template's %s may be silent for %i ms, twice", async (kind, ms) => {
  const model = await startScriptedModel();
  model.reply = () => ({ hang: true });
  const clock = virtualClock();
  const models = new DeploymentModels({
    clock,
    log: pino({ enabled: false }),
    env: readEnv({ OPENAI_BASE_URL: model.url, OPENAI_MODEL: "m" }),
  });
  let fault: unknown = null;
  const asked = models[kind]({ models: {} })
    .answer(HELLO, { signal: new AbortController().signal, onText: () => undefined })
    .catch((error: unknown) => {
      fault = error;
    });
  for (const times of [1, 2]) {
    await until("the model to be asked", () => model.questions.length === times || undefined);
    await clock.advance(ms - 1);
    expect(fault).toBeNull();
    await clock.advance(1);
  }
  await asked;
  expect(fault).toBeInstanceOf(ModelError);
  expect(fault).toMatchObject({ code: "MODEL_TIMEOUT", message: `the model was silent for ${ms} ms` });
  await model.close();
});
