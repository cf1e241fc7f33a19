import type { Clock } from "../../../shared/time/clock.ts";
import type { DelayTimes } from "./delays.ts";
import type { Faults } from "./faults.ts";
import type { Requests } from "./request-log.ts";

/** What every answer needs to know of the simulator. */
export type RequestContext = Readonly<{ faults: Faults; requests: Requests; delays: DelayTimes; clock: Clock }>;
