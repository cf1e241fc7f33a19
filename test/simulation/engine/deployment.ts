import type { ServiceBroker, ServiceSchema } from "moleculer";
import conversation from "../../../services/conversation/conversation.service.ts";
import dialer from "../../../services/dialer/dialer.service.ts";
import leads from "../../../services/leads/leads.service.ts";
import numbers from "../../../services/numbers/numbers.service.ts";
import scheduler from "../../../services/scheduler/scheduler.service.ts";
import webhook from "../../../services/webhook/webhook.service.ts";
import { readEnv, type Env } from "../../../shared/process/env.ts";
import { provideDeps } from "../../../shared/process/process-deps.ts";
import { clockBy, createStoreClock } from "../../../shared/time/store-clock.ts";
import { OWN_CLOCK } from "../checks/mutations.ts";
import type { Member } from "./bus.ts";
import { SimLeg } from "../actors/media-leg.ts";
import { Process, simulatedIds } from "./process.ts";
import type { SimCall } from "../actors/carrier-records.ts";
import type { MediaPort, Scene } from "./scene.ts";

/** The services that ship, as they ship. */
const SERVICES: Record<string, ServiceSchema> = { leads, scheduler, dialer, numbers, conversation, webhook };

type Handler = (this: unknown, context: unknown) => unknown;
interface Runnable {
  actions: Record<string, { handler: Handler }>;
  events: Record<string, { handler: Handler }>;
  created: Handler;
  started(this: unknown): Promise<void>;
  stopped(this: unknown): Promise<void>;
}

/** What every simulated deployment needs. */
const GROUND = {
  NODE_ENV: "test",
  OPENAI_MODEL: "simulated",
  WEBHOOK_ALLOW_HTTP: "true",
  WEBHOOK_ALLOW_PRIVATE: "true",
  NUMBERS_ADDED_BY: "reseller",
};

/** The environment of the simulated deployment: short times, so that little virtual time shows much; where costs are counted, the defaults. */
export function simulatedEnv(scene: Scene): Env {
  const { random } = scene.stage.world;
  if (scene.costs) return readEnv(GROUND);
  return readEnv({
    ...GROUND,
    RING_TIMEOUT_SECONDS: "12",
    LEASE_SECONDS: String(random.pick([10, 15, 30])),
    SCHEDULER_INTERVAL_MS: String(random.pick([2000, 5000, 10_000])),
    SWEEP_INTERVAL_MS: String(random.pick([4000, 10_000])),
    ANSWER_LIMIT_MS: "30000",
    SHUTDOWN_GRACE_SECONDS: "30",
    SCHEDULER_BATCH: String(random.pick([2, 10, 100])),
    // more than the simulated carrier asks for a call of a minute
    ...(scene.ceiling ? { CALL_PRICES: "*=0.02" } : {}),
    PROVIDER_ONE_CALLS_PER_SECOND: String(scene.load?.calls_per_second ?? random.pick([0, 1, 2, 5])),
  });
}

/** Starts a process: its service is built anew from the code that ships, on simulated ground. */
function startProcess(scene: Scene, process: Process, env: Env): void {
  const { stage, bus } = scene;
  const life = process.begin();
  stage.world.after(0, life, () => {
    const schema = SERVICES[process.service] as unknown as Runnable;
    const face = bus.face(life);
    const broker = { nodeID: process.name, ...face };
    const [own, log] = [process.clock(stage, life), process.log(stage)];
    const storeClock = createStoreClock({ clock: own, log, holds: true });
    provideDeps(broker as unknown as ServiceBroker, {
      env,
      clock: scene.mutation === OWN_CLOCK ? own : clockBy(storeClock, own),
      storeClock,
      ids: simulatedIds(stage.world),
      log,
      random: () => stage.world.random.next(),
    });
    const self = { broker };
    let request = 0;
    const context = (params: unknown) => ({ params, id: `${process.name}-${request++}`, ...face });
    schema.created.call(self, undefined);
    const member: Member = {
      life,
      act: async (action, params) => schema.actions[action]?.handler.call(self, context(params)),
      events: Object.fromEntries(
        Object.entries(schema.events ?? {}).map(([name, e]) => [
          name,
          (event: unknown) => {
            void e.handler.call(self, context(event));
          },
        ]),
      ),
    };
    let leaving = false;
    process.shutDown = () => {
      leaving = true;
      bus.leave(process);
      return schema.stopped.call(self).catch(() => undefined);
    };
    const start = async (): Promise<void> => {
      await schema.started.call(self);
      // as Moleculer does: nobody calls a service before it has started and knows the time
      if (life.alive && !leaving) bus.join(process, member);
    };
    start().catch((error: unknown) => {
      stage.count("start failed");
      // as a supervisor does; while the database is away that is no fault of the service
      stage.crash(process, `start: ${error instanceof Error ? error.message : String(error)}`);
    });
  });
}

/** All processes of the deployment, and how they come back from the dead. */
export function deploy(scene: Scene): void {
  const { stage, carrier, bus, processes, mediaPorts } = scene;
  const { random } = stage.world;
  const env = simulatedEnv(scene);
  scene.callsPerSecond = env.PROVIDER_ONE_CALLS_PER_SECOND;
  scene.placementGraceMs = env.PLACEMENT_GRACE_SECONDS * 1000;
  const sizes: Record<string, number> = {
    leads: random.whole(1, 2),
    scheduler: scene.costs ? 1 : 2,
    dialer: scene.costs ? 1 : 2,
    numbers: scene.owners ? 2 : 1,
    conversation: random.whole(1, 2),
    webhook: random.whole(1, 2),
  };
  stage.restart = (process) => startProcess(scene, process, env);
  for (const [service, size] of Object.entries(sizes)) {
    for (let i = 1; i <= size; i++) {
      const process = new Process(stage, service, `${service}-${i}`, true);
      process.onDeath = () => {
        bus.left(process);
        for (let at = mediaPorts.length - 1; at >= 0; at--)
          if (mediaPorts[at]?.life.process === process) mediaPorts.splice(at, 1);
        for (const call of carrier.live()) if (call.leg?.process === process.name) call.leg.died();
      };
      processes.push(process);
      startProcess(scene, process, env);
    }
  }
}

const MEDIA_ADDRESS = /\/media\/([A-Z_]+)\/([0-9a-f]{32})$/;

/** How the carrier reaches the deployment: callbacks through the edge, media sockets to any conversation process. */
export function connectCarrier(scene: Scene, gateway: Process): void {
  const { stage, carrier, bus, mediaPorts } = scene;
  const { world } = stage;
  const turnAway = (call: SimCall): void => {
    world.after(0, null, () => carrier.hangUp(call.id));
  };
  const connect = async (
    call: SimCall,
    { life, options }: MediaPort,
    provider: "PROVIDER_ONE",
    token: string,
  ): Promise<void> => {
    const ticket = await options.admit({ provider, token, path: call.media.url, headers: {} }).catch(() => null);
    if (call.ended !== null) return;
    if (ticket === null) {
      turnAway(call);
      return;
    }
    const leg = new SimLeg(stage, carrier, call, life);
    call.leg = leg;
    options.onSocket(leg as never, ticket); // the leg stands for the socket: see stand-ins/text-relay-leg.ts
  };
  carrier.reach = {
    callback(call, kind, told, progress) {
      const path = `/carriers/PROVIDER_ONE/${kind}/${call.ref}`;
      world.after(0, gateway.life, () => {
        bus
          .face(gateway.life)
          .call("dialer.carrierEvent", {
            provider: "PROVIDER_ONE",
            kind,
            ref: call.ref,
            method: "POST",
            path,
            headers: {},
            body: JSON.stringify({ call_id: call.id, told, progress: [progress] }),
          })
          .catch(() => {
            stage.count("callback not taken");
          });
      });
    },
    media(call) {
      const [, provider = "", token = ""] = MEDIA_ADDRESS.exec(call.media.url) ?? [];
      const open = mediaPorts.filter((p) => p.life.alive);
      if (open.length === 0) {
        turnAway(call);
        return;
      }
      const { life, options } = world.random.pick(open);
      world.after(1, life, () => {
        void connect(call, { life, options }, provider as "PROVIDER_ONE", token);
      });
    },
  };
}
