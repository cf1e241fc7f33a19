import type { Clock } from "../../../shared/time/clock.ts";
import type { Ids } from "../../../shared/ids.ts";
import type { Log } from "../../../shared/process/log.ts";
import type { ToldTime } from "../../../shared/time/store-clock.ts";
import { calm, type Faults, type Tally } from "../checks/faults.ts";
import type { Life, World } from "./world.ts";

/** What a step outside of a process costs and suffers. Times in ms. */
export interface StepHow {
  outMs: number;
  backMs: number;
  /** Done, and the answer is lost: this is thrown later. */ lost?: Error | null;
  /** Not done at all. */ undone?: Error | null;
  idle?: boolean;
}

const LOST_NOTICED_MS = 800;
/** A shutdown that takes longer than its grace of 30 s and a little is ended by force. */
const KILLED_AFTER_MS = 35_000;
/** A read that takes this long is answered by itself. */
const LONG_MS = 5;
const RESTART_MIN_MS = 500;
const RESTART_MAX_MS = 45_000;

/** Never settles: what a dead process waits for. */
export const never = <T>(): Promise<T> => new Promise<T>(() => undefined);

/** The stage all processes stand on. */
export class Stage {
  readonly world: World;
  faults: Faults = calm();
  /** The database takes so long to acknowledge a write, beside what every write takes. */
  writeMs = 0;
  /** A reading of its clock takes so much longer. */
  farMs = 0;
  readonly tally: Tally = {};
  /** What must never happen, whoever catches it: the simulator was asked for what it can't do, or a contract was broken. */
  readonly wrong: string[] = [];
  /** Every stand-still, from when to when. */
  readonly pauses: { process: string; from: number; to: number }[] = [];
  /** Until when database and bus are away, for everybody. */
  readonly awayUntil = { store: 0, bus: 0 };
  /** The database's clock was set by so much. */
  storeAheadMs = 0;
  /** What processes left in the database about the time. */
  told: ToldTime | null = null;
  /** Starts a process anew; set by whoever knows the services. */
  restart: (process: Process) => void = () => undefined;

  readonly #glances = new WeakMap<SimLife, { at: number; answers: (() => void)[] }>();

  constructor(world: World) {
    this.world = world;
  }

  count(what: string): void {
    this.tally[what] = (this.tally[what] ?? 0) + 1;
  }

  /** True with this probability, counted under this name. */
  strikes(what: string, probability: number): boolean {
    if (!this.world.random.chance(probability)) return false;
    this.count(what);
    return true;
  }

  /** A step of this life that leaves its process: to the database, over the bus, to the carrier. The process may die or stand still right here. */
  step<T>(life: SimLife, label: string, effect: () => T, how: StepHow): Promise<T> {
    const { world, faults } = this;
    const { process } = life;
    if (!life.alive) return never();
    const crash = how.idle ? faults.idleCrash : faults.crash;
    if (process.mortal && crash > 0 && this.strikes("crash", crash)) {
      // half of the time the request is out already
      if (world.random.chance(0.5))
        world.after(how.outMs, null, () => {
          try {
            effect();
          } catch {
            /* nobody hears of it */
          }
        });
      this.crash(process, label);
      return never();
    }
    let held = 0;
    if (process.mortal && !how.idle && faults.pause > 0 && this.strikes("pause", faults.pause))
      held = this.pause(process, label);
    return new Promise<T>((resolve, reject) => {
      world.after(held + how.outMs, null, () => {
        if (how.undone) {
          const error = how.undone;
          world.after(LOST_NOTICED_MS, life, () => reject(error));
          return;
        }
        let settle: () => void;
        try {
          const value = effect();
          settle = () => resolve(value);
        } catch (error) {
          settle = () => reject(error as Error);
        }
        if (how.lost) {
          const error = how.lost;
          world.after(LOST_NOTICED_MS, life, () => reject(error));
          return;
        }
        world.after(how.backMs, life, settle);
      });
    });
  }

  /** A read as of this instant, whose answer comes later; reads of one life at one instant are answered together. */
  glance<T>(life: SimLife, label: string, effect: () => T, ms: number, lost: Error | null): Promise<T> {
    if (!life.alive) return never();
    if (life.process.mortal && this.strikes("crash", this.faults.idleCrash)) {
      this.crash(life.process, label);
      return never();
    }
    let settle: (resolve: (v: T) => void, reject: (e: Error) => void) => void;
    if (lost) settle = (_resolve, reject) => reject(lost);
    else {
      try {
        const value = effect();
        settle = (resolve) => resolve(value);
      } catch (error) {
        settle = (_resolve, reject) => reject(error as Error);
      }
    }
    return new Promise<T>((resolve, reject) => {
      const known = this.#glances.get(life);
      const answer = (): void => settle(resolve, reject);
      if (known?.at === this.world.now && ms < LONG_MS) {
        known.answers.push(answer);
        return;
      }
      const answers = [answer];
      if (ms < LONG_MS) this.#glances.set(life, { at: this.world.now, answers });
      this.world.after(ms, life, () => {
        for (const a of answers) a();
      });
    });
  }

  crash(process: Process, where: string): void {
    if (!process.life.alive) return;
    process.life.alive = false;
    this.world.tell(process.name, `† dies at ${where}`);
    this.world.after(this.world.random.between(RESTART_MIN_MS, RESTART_MAX_MS), null, () => this.revive(process));
    process.onDeath();
  }

  /** SIGTERM: the process is taken off the bus, its service drains, then it ends and comes back; past the grace it is killed. */
  terminate(process: Process): void {
    const { life } = process;
    if (!life.alive) return;
    this.count("SIGTERM");
    this.world.tell(process.name, "is told to end");
    const end = (how: string): void => {
      if (process.life === life) this.crash(process, how);
    };
    this.world.after(0, life, () => {
      void process.shutDown().then(() => end("the end of its shutdown"));
    });
    this.world.after(KILLED_AFTER_MS, null, () => end("the end of its grace"));
  }

  revive(process: Process): void {
    if (process.life.alive) return;
    this.world.tell(process.name, "starts again");
    this.restart(process);
  }

  /** The process stands still; for how long, ms. */
  pause(process: Process, where: string): number {
    const ms = this.world.random.between(50, this.faults.pauseMaxMs);
    process.pausedUntil = Math.max(process.pausedUntil, this.world.now + ms);
    this.pauses.push({ process: process.name, from: this.world.now, to: process.pausedUntil });
    this.world.tell(process.name, `stands still for ${(ms / 1000).toFixed(1)} s at ${where}`);
    return process.pausedUntil - this.world.now;
  }
}

/** A life that knows its process. */
export interface SimLife extends Life {
  readonly process: Process;
}

/** One process of the deployment: it holds one service, dies, stands still, and comes back. */
export class Process {
  readonly name: string;
  readonly service: string;
  /** False for what stands for the rest of the deployment: it never fails. */
  readonly mortal: boolean;
  pausedUntil = 0;
  /** Its wall clock was set by so much. */
  wallAheadMs = 0;
  life: SimLife;
  /** Shuts its service down, as SIGTERM does. */
  shutDown: () => Promise<void> = () => Promise.resolve();
  /** What falls with it: sockets. */
  onDeath: () => void = () => undefined;
  readonly #skewMs: number;
  readonly #monotonicMs: number;

  constructor(stage: Stage, service: string, name: string, mortal: boolean) {
    this.name = name;
    this.service = service;
    this.mortal = mortal;
    this.life = { process: this, alive: false };
    this.#skewMs = mortal ? stage.world.random.between(-400, 400) : 0;
    this.#monotonicMs = stage.world.random.between(1000, 1e6);
  }

  /** A fresh life; whatever the one before still does goes nowhere. */
  begin(): SimLife {
    this.life.alive = false;
    this.life = { process: this, alive: true };
    return this.life;
  }

  clock(stage: Stage, life: SimLife): Clock {
    const { world } = stage;
    return {
      now: () => new Date(world.now + this.#skewMs + this.wallAheadMs),
      monotonicMs: () => world.now + this.#monotonicMs,
      wait: (ms, signal) =>
        new Promise<void>((resolve) => {
          if (signal?.aborted) {
            resolve();
            return;
          }
          const cancel = world.after(Math.max(0, ms), life, () => {
            signal?.removeEventListener("abort", stop);
            resolve();
          });
          const stop = (): void => {
            cancel();
            resolve();
          };
          signal?.addEventListener("abort", stop, { once: true });
        }),
    };
  }

  log(stage: Stage): Log {
    const { world } = stage;
    const line =
      (level: string) =>
      (fields: Record<string, unknown>, sentence?: string): void => {
        if (!world.trace) return;
        const { event: _event, node: _node, ...rest } = fields;
        world.note(this.name, `  ${level}: ${sentence ?? ""} ${JSON.stringify(rest).slice(0, 300)}`);
      };
    const log = {
      level: "info",
      info: line("log"),
      warn: line("warn"),
      error: line("error"),
      debug: () => undefined,
      trace: () => undefined,
      fatal: line("fatal"),
      child: () => log,
    };
    return log as unknown as Log; // the services use these of pino's methods only
  }
}

const HEX = "0123456789abcdef";

/** Ids by chance of the world. */
export function simulatedIds(world: World): Ids {
  const hex = (chars: number): string => {
    let out = "";
    for (let i = 0; i < chars; i++) out += HEX.charAt(Math.floor(world.random.next() * 16));
    return out;
  };
  const bytes = (n: number): Buffer => Buffer.from(hex(2 * n), "hex");
  return {
    uuid: () => `${hex(8)}-${hex(4)}-4${hex(3)}-a${hex(3)}-${hex(12)}`,
    hex: (n) => hex(2 * n),
    base64url: (n) => bytes(n).toString("base64url"),
    base64: (n) => bytes(n).toString("base64"),
  };
}
