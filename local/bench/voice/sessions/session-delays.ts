import { roomOf } from "../../../../shared/contracts/records/session.ts";
import { callRef } from "../../../../shared/ids.ts";
import { awaitedCalls, endlessTemplate } from "../answered-calls.ts";
import { startConversationProcess } from "../conversation-process.ts";
import { startStubModels } from "../stub-models.ts";
import { pricesOf, shopNode } from "../turn-latency.ts";
import { startClients } from "./client-processes.ts";
import { stagesOf, type Stages } from "./sound-stages.ts";

/** How delays are measured: conversations at once and turns of each, whether clients join them in place of a carrier, and further variables of the service. */
export interface DelayOptions {
  calls: number;
  turns: number;
  sessions: boolean;
  env: Record<string, string>;
}

/** `delays`: from the end of speech to the first sound of the answer, ms, turn by turn. `stages`: of the sessions' turns whose sound was seen at every place. */
export interface Delays {
  delays: number[];
  stages: Stages[];
}

/** How long answers take. All callers are in one process of their own. */
export async function measureDelays({ calls, turns, sessions, env }: DelayOptions): Promise<Delays> {
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
    await talker.sounds();
    const measured = await clients.turns(turns);
    const { told, heard, written, given } = await talker.sounds();
    await clients.leave();
    const inRoom = env["LIVEKIT_URL"] !== undefined;
    const stages = measured.map((turn) => {
      const room = roomOf(callRef(turn.lead_id, 1));
      const passed = { told: told[room], heard: heard[room], written: written[room], given: given[room] };
      const { told: t = [], heard: h = [], written: w = [], given: g = [] } = passed;
      return stagesOf(turn, { told: t, heard: h, written: w, given: g }, inRoom);
    });
    return {
      delays: measured.map(({ end, answered }) => answered - end),
      stages: stages.filter((stage) => stage !== null),
    };
  } finally {
    stop();
    await talker.stop();
    await models.close();
  }
}
