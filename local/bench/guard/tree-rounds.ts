import type { Engine } from "../../../shared/contracts/records/models.ts";
import { PEOPLE, startGuardWorld, type GuardWorld, type GuardWorldOptions, type Round } from "./guard-world.ts";

/** Rounds of one item: each on this tree, and right before, after or beside it on the other. */
export interface ItemRounds {
  item: string;
  pairs: Pair[];
}

interface Pair {
  ours: Round;
  theirs: Round;
  /** Which of the pairs of processes played it, from 0. */
  world: number;
}
type Worlds = readonly [GuardWorld, GuardWorld];

/** The item that is nothing but time. */
export const IDLE = "idle minute";

/** How a round of an item is played, and how many pairs of them in a turn. */
interface Play {
  pairs: number;
  round(world: GuardWorld): Promise<Round>;
}
type Plays = Readonly<Record<string, Play>>;

const SHORT: Plays = {
  push: { pairs: 3, round: (w) => w.pushes(150) },
  "busy call": { pairs: 2, round: (w) => w.calls(30, "06") },
  "answered call over the relay, 4 turns": { pairs: 1, round: (w) => w.calls(16, PEOPLE["4 turns"]) },
};
const RELAY: Plays = {
  ...SHORT,
  "unanswered call": { pairs: 1, round: (w) => w.calls(30, "07") },
  "answered call over the relay, 10 turns": { pairs: 1, round: (w) => w.calls(16, PEOPLE["10 turns"]) },
};
const CASCADE: Plays = {
  "answered call with sound, 4 turns": { pairs: 1, round: (w) => w.calls(16, PEOPLE["4 turns"]) },
  "answered call with sound, 10 turns": { pairs: 1, round: (w) => w.calls(16, PEOPLE["10 turns"]) },
};
const REST: Plays = { [IDLE]: { pairs: 1, round: (w) => w.idle() } };

/** Worlds one after the other: what a process has compiled and where its objects lie is another each time. */
interface Part extends GuardWorldOptions {
  plays: Plays;
  worlds: number;
  /** How long rounds are played in each; at least two turns. */
  ms: number;
  /** Both trees at once: rounds that mostly wait. */
  together?: boolean;
}
const relay: Engine = "relay";
const SHORT_PARTS: readonly Part[] = [{ engine: relay, plays: SHORT, worlds: 2, ms: 25_000 }];
const PARTS: readonly Part[] = [
  { engine: relay, plays: RELAY, worlds: 3, ms: 150_000 },
  { engine: relay, idles: true, together: true, plays: REST, worlds: 2, ms: 120_000 },
  { engine: "cascade", together: true, plays: CASCADE, worlds: 2, ms: 400_000 },
];
const LEAST_TURNS = 2;
/** The short form begins no further world after this, however slow the machine is. */
const SHORT_MS = 100_000;

/** Plays every item on the services of both trees, alternating. The first turn in each world warms up. */
export async function playTrees(ours: string, theirs: string, short: boolean): Promise<ItemRounds[]> {
  const rounds = new Map<string, ItemRounds>();
  /** One pair of rounds; who comes first changes. */
  const playPair = async (
    round: Play["round"],
    [a, b]: Worlds,
    oursFirst: boolean,
    together: boolean,
  ): Promise<Omit<Pair, "world">> => {
    const first = round(oursFirst ? a : b);
    if (!together) await first;
    const [one, other] = await Promise.all([first, round(oursFirst ? b : a)]);
    return oursFirst ? { ours: one, theirs: other } : { ours: other, theirs: one };
  };
  const playTurn = async (worlds: Worlds, { plays, together = false }: Part, world: number | null): Promise<void> => {
    for (const [item, { pairs, round }] of Object.entries(plays))
      for (let i = 0; i < pairs; i++) {
        const of = rounds.get(item) ?? { item, pairs: [] };
        rounds.set(item, of);
        const pair = await playPair(round, worlds, of.pairs.length % 2 === 0, together);
        if (world !== null) of.pairs.push({ ...pair, world });
      }
  };
  const latest = performance.now() + (short ? SHORT_MS : Infinity);
  for (const part of short ? SHORT_PARTS : PARTS)
    for (let i = 0; i < part.worlds && performance.now() < latest; i++) {
      const worlds = [await startGuardWorld(ours, part), await startGuardWorld(theirs, part)] as const;
      try {
        await playTurn(worlds, part, null);
        const until = performance.now() + part.ms;
        for (let turn = 0; turn < LEAST_TURNS || performance.now() < until; turn++) await playTurn(worlds, part, i);
      } finally {
        await Promise.all(worlds.map((world) => world.stop()));
      }
    }
  return [...rounds.values()];
}
