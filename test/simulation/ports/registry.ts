import type { Carriers } from "../../../services/dialer/carriers/registry.ts";
import { simulatedCarriers } from "../carrier-port.ts";
import { currentLife, theScene } from "../scene.ts";

/** In place of the dialer's registry: the simulated carrier behind every provider word. */
export const createCarriers = (): Carriers => simulatedCarriers(theScene().stage, currentLife(), theScene().carrier);
