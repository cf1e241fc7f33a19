import { awaitedCalls, endlessTemplate } from "../answered-calls.ts";
import { startConversationProcess } from "../conversation-process.ts";
import { startStubModels } from "../stub-models.ts";
import { pricesOf, shopNode } from "../turn-latency.ts";
import { startClients } from "./client-processes.ts";

/** How delays are measured: conversations at once and turns of each, whether clients join them in place of a carrier, and further variables of the service. */
export interface DelayOptions {
  calls: number;
  turns: number;
  sessions: boolean;
  env: Record<string, string>;
}

/** From the end of speech to the first sound of the answer, ms, turn by turn. All callers are in one process of their own, as are the models. */
export async function measureDelays({ calls, turns, sessions, env }: DelayOptions): Promise<number[]> {
  const models = await startStubModels();
  const talker = await startConversationProcess({ models: models.url, env: { PREEMPTIVE_GENERATION: "true", ...env } });
  const template = endlessTemplate([shopNode]);
  let stop = (): void => undefined;
  try {
    await talker.template(template);
    const awaited = await awaitedCalls(talker, template, calls, { sessions, payload: pricesOf });
    const clients = await startClients(awaited, calls);
    stop = clients.stop;
    await clients.join();
    await clients.rehearse();
    const measured = await clients.turns(turns);
    await clients.leave();
    return measured.map(({ end, answered }) => answered - end);
  } finally {
    stop();
    await talker.stop();
    await models.close();
  }
}
