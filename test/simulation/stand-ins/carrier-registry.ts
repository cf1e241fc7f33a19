import type { Carriers } from "../../../services/dialer/carriers/carrier-registry.ts";
import { simulatedCarriers } from "../actors/carrier-port.ts";
import { currentLife, theScene } from "../engine/scene.ts";

/** In place of the dialer's registry: the simulated carrier behind every provider word. */
export const createCarriers = (): Carriers => simulatedCarriers(theScene(), currentLife());
