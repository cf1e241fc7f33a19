import type { Lane } from "./lane.ts";

/** Something that is played with a real browser, and must end as it says. */
export interface Scene {
  name: string;
  /** False: left out by --short. */
  isShort: boolean;
  /** Nothing else is played meanwhile. */
  alone?: boolean;
  /** Played where media travel so; absent: both ways. */
  only?: Lane["transport"];
  /** Throws where it is not as it should be. What it returns is told. */
  run(lane: Lane): Promise<string>;
}
