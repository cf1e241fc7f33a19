import type { Engine } from "../../shared/contracts/records/models.ts";
import { ENGINES } from "../../shared/process/variables.ts";
import { StartError } from "./stack/data-folder.ts";

/** The engine of this name. StartFault when there is none. */
export function engineNamed(name: string): Engine {
  const engine = ENGINES.find((known) => known === name);
  if (engine === undefined) throw new StartError(`--engine must be one of ${ENGINES.join(", ")}, not "${name}".`);
  return engine;
}
