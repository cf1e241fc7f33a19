import { contractOf } from "../../../shared/contracts/index.ts";
import type { ValidationIssue } from "../../../shared/errors.ts";
import { issueChecker } from "../../../shared/validator.ts";
import { never, type Process, type SimLife, type Stage } from "./process.ts";

/** What a service on the bus answers with. */
export interface Member {
  life: SimLife;
  act(action: string, params: unknown): Promise<unknown>;
  events: Record<string, (event: unknown) => void>;
}

/** The bus as a broker shows it. */
export interface BusFace {
  call(name: string, params: unknown, options?: { timeout?: number; nodeID?: string }): Promise<unknown>;
  emit(name: string, event: unknown): Promise<void>;
  broadcast(name: string, event: unknown): Promise<void>;
}

const REQUEST_TIMEOUT_MS = 10_000;
/** A dead node is still offered calls for as long as its heartbeat may be late. */
const NOTICED_MS = 10_000;
const MAX_LATE_MS = 3000;
/** Of what is said, this much is shown in a trace. */
const SHOWN_CHARS = 160;

/** Calls that only look for work; they come every second, so a crash in them is made rarer. */
const LOOKING = new Set([
  "leads.reachable",
  "leads.heads",
  "leads.dueOf",
  "leads.inFlight",
  "leads.aging",
  "config.plans",
  "blacklist.check",
  "merchants.pauses",
  "numbers.availability",
]);

const carried = (error: unknown): Error => {
  const e = error as Partial<Error> & { code?: unknown; type?: unknown; data?: unknown; retryable?: unknown };
  return Object.assign(new Error(e.message ?? String(error)), {
    name: e.name ?? "Error",
    code: e.code,
    type: e.type,
    data: wire(e.data),
  });
};
const busError = (name: string, type: string, code: number, message: string): Error =>
  Object.assign(new Error(message), { name, type, code });

const checkers = new Map<string, (params: unknown) => ValidationIssue[]>();
function faultsIn(name: string, params: unknown): ValidationIssue[] {
  let check = checkers.get(name);
  if (!check) {
    const contract = contractOf(name);
    if (!contract) throw new Error(`the contracts know no action ${name}`);
    check = issueChecker(contract.params);
    checkers.set(name, check);
  }
  return check(params);
}

/** What arrives of a value that goes over the wire as JSON; in one pass, for it is done for everything that is said. */
function wire(value: unknown): unknown {
  if (typeof value !== "object" || value === null)
    return typeof value === "number" && !Number.isFinite(value) ? null : value;
  if (value instanceof Date) return value.toJSON();
  if (Array.isArray(value)) return value.map((v) => wire(v) ?? null);
  const out: Record<string, unknown> = {};
  for (const [key, inner] of Object.entries(value)) if (inner !== undefined) out[key] = wire(inner);
  return out;
}

/** How an action ended, as it goes over the wire. */
const answered = (work: Promise<unknown>): Promise<{ value: unknown } | { error: Error }> =>
  work.then(
    (value) => ({ value: wire(value) }),
    (error: unknown) => ({ error: carried(error) }),
  );

/** Requests, answers and events between processes: at most once, late, lost, out of order; all as JSON. */
export class SimBus {
  /** Sees every request as it goes out. */
  onSent: (name: string, params: unknown) => void = () => undefined;
  /** Sees everything that goes over the bus: a request, its answer as it arrives, an event to one who listens. */
  onMessage: (what: string, body: unknown) => void = () => undefined;
  readonly #stage: Stage;
  readonly #members = new Map<string, { member: Member; goneSince: number | null }[]>();
  readonly #turn = new Map<string, number>();

  constructor(stage: Stage) {
    this.#stage = stage;
  }

  join(process: Process, member: Member): void {
    const of = this.#members.get(process.service) ?? [];
    this.#members.set(process.service, [
      ...of.filter((m) => m.member.life.process !== process),
      { member, goneSince: null },
    ]);
  }

  /** Says goodbye: nobody is sent there any more. */
  leave(process: Process): void {
    const of = this.#members.get(process.service) ?? [];
    this.#members.set(
      process.service,
      of.filter((m) => m.member.life.process !== process),
    );
  }

  /** Is gone without a word. */
  left(process: Process): void {
    for (const m of this.#members.get(process.service) ?? [])
      if (m.member.life.process === process) m.goneSince = this.#stage.world.now;
  }

  #known(service: string): Member[] {
    const { now } = this.#stage.world;
    return (this.#members.get(service) ?? [])
      .filter((m) => m.goneSince === null || m.goneSince + NOTICED_MS > now)
      .map((m) => m.member);
  }

  #latency(): number {
    const { random } = this.#stage.world;
    return random.chance(0.02) ? random.between(5, 300) : random.between(0.1, 1.5);
  }

  face(life: SimLife): BusFace {
    return {
      call: (name, params, options) => this.#call(life, name, params, options ?? {}),
      emit: (name, event) => {
        this.#spread(life, name, event, true);
        return Promise.resolve();
      },
      broadcast: (name, event) => {
        this.#spread(life, name, event, false);
        return Promise.resolve();
      },
    };
  }

  #target(name: string, node: string | undefined): Member {
    const [service = ""] = name.split(".");
    const known = this.#known(service);
    if (node !== undefined) {
      const named = known.find((m) => m.life.process.name === node);
      if (!named)
        throw busError(
          "ServiceNotFoundError",
          "SERVICE_NOT_FOUND",
          404,
          `Service '${name}' is not found on '${node}' node.`,
        );
      return named;
    }
    const turn = (this.#turn.get(service) ?? 0) + 1;
    this.#turn.set(service, turn);
    const member = known[turn % Math.max(1, known.length)];
    if (!member)
      throw busError("ServiceNotAvailableError", "SERVICE_NOT_AVAILABLE", 404, `Service '${name}' is not available.`);
    return member;
  }

  #call(
    life: SimLife,
    name: string,
    params: unknown,
    { timeout = REQUEST_TIMEOUT_MS, nodeID }: { timeout?: number; nodeID?: string },
  ): Promise<unknown> {
    const stage = this.#stage;
    const { world, faults } = stage;
    if (!life.alive) return never();
    const idle = LOOKING.has(name);
    if (life.process.mortal && stage.strikes("crash", idle ? faults.idleCrash : faults.crash)) {
      stage.crash(life.process, `call ${name}`);
      return never();
    }
    let target: Member;
    try {
      target = this.#target(name, nodeID);
    } catch (error) {
      return Promise.reject(error as Error);
    }
    const held =
      life.process.mortal && !idle && stage.strikes("pause", faults.pause)
        ? stage.pause(life.process, `call ${name}`)
        : 0;
    if (world.now < stage.awayUntil.bus && target.life.process !== life.process)
      return Promise.reject(
        busError("ServiceNotAvailableError", "SERVICE_NOT_AVAILABLE", 404, `The bus is away (${name}).`),
      );
    const sent = wire(params);
    this.onSent(name, params);
    this.onMessage(name, sent);
    return new Promise((resolve, reject) => {
      const giveUp = world.after(timeout, life, () =>
        reject(
          busError("RequestTimeoutError", "REQUEST_TIMEOUT", 504, `Request is timed out when call '${name}' action.`),
        ),
      );
      const answer = (settle: () => void): void => {
        if (!target.life.alive || stage.strikes("reply lost", faults.packetLost)) return;
        world.after(this.#latency(), life, () => {
          giveUp();
          settle();
        });
      };
      if (stage.strikes("request lost", faults.packetLost)) return;
      world.after(held + this.#latency(), target.life, () => {
        if (!idle && world.trace)
          world.note(
            life.process.name,
            `→ ${target.life.process.name} ${name} ${JSON.stringify(sent).slice(0, SHOWN_CHARS)}`,
          );
        const faulty = faultsIn(name, sent);
        const work =
          faulty.length > 0
            ? Promise.reject(
                Object.assign(
                  busError(
                    "ValidationError",
                    "VALIDATION_ERROR",
                    422,
                    `Parameters validation error! ${name} ${JSON.stringify(faulty)}`,
                  ),
                  { data: faulty },
                ),
              )
            : target.act(name.split(".")[1] ?? "", sent);
        if (faulty.length > 0)
          stage.wrong.push(`${life.process.name} called ${name} against its contract: ${JSON.stringify(faulty)}`);
        void answered(work).then((back) =>
          answer(() => {
            this.onMessage(name, back);
            if ("value" in back) resolve(back.value);
            else reject(back.error);
          }),
        );
      });
    });
  }

  #spread(life: SimLife, name: string, event: unknown, toOne: boolean): void {
    const stage = this.#stage;
    const { world, faults } = stage;
    if (!life.alive) return;
    for (const service of this.#members.keys()) {
      const listening = this.#known(service).filter((m) => m.events[name] !== undefined);
      if (listening.length === 0) continue;
      for (const member of toOne ? [world.random.pick(listening)] : listening) {
        if (stage.strikes("event lost", faults.eventLost)) continue;
        this.onMessage(name, event);
        const times = stage.strikes("event twice", faults.eventTwice) ? 2 : 1;
        for (let i = 0; i < times; i++) {
          const late = world.random.chance(faults.eventTwice) ? world.random.between(0, MAX_LATE_MS) : 0;
          world.after(late + this.#latency(), member.life, () => member.events[name]?.(wire(event)));
        }
      }
    }
  }
}
