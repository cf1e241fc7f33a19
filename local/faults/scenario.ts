import type { Scene, SceneOptions } from "./scene.ts";

/** A fault, what must hold while it lasts and after it, and how its scene is set. */
export interface Scenario {
  /** One line, for people. */
  about: string;
  /** The alarm of deploy/observability/alerts.yml that it raises where it lasts for as long as the rule wants; null: none, as all goes on. */
  alarm: `Callagent${string}` | null;
  /** How long the fault lasts where nothing else is asked for, seconds. */
  seconds: number;
  /** Left out of the short form that the tests of every day play: it takes long, and the simulation, or another test, shows the same. */
  long?: boolean;
  scene(
    seconds: number,
  ): Pick<
    SceneOptions,
    "timeScale" | "leaseSeconds" | "provider" | "engine" | "env" | "clocks" | "replicas" | "balanced"
  >;
  /** Plays it; what did not hold, one line each. */
  play(scene: Scene, seconds: number): Promise<string[]>;
}
