import { FRAME_MS } from "./audio-format.ts";

/** Something that moves sound every FRAME_MS. */
export interface Ticking {
  tick(): void;
}

/** The ticking are spread over the frame, so that many calls do not all send at the same instant. */
const PHASES = 4;
const PHASE_MS = FRAME_MS / PHASES;
/** A process that was held up longer than this leaves the lost time out, ms. */
const MOST_CATCH_UP_MS = 200;

const phases: readonly Set<Ticking>[] = Array.from({ length: PHASES }, () => new Set<Ticking>());
let timer: NodeJS.Timeout | null = null;
/** When the next phase is due, on performance.now's clock. */
let dueMs = 0;
let phase = 0;

function run(): void {
  const now = performance.now();
  if (now - dueMs > MOST_CATCH_UP_MS) dueMs = now;
  while (dueMs <= now) {
    for (const one of phases[phase] ?? []) one.tick();
    phase = (phase + 1) % PHASES;
    dueMs += PHASE_MS;
  }
  timer = phases.some((set) => set.size > 0) ? setTimeout(run, Math.max(0, dueMs - performance.now())) : null;
}

/** Moves it from now on, in real time, until the function it gives is called. All sound of the process has this one timer. */
export function keepTicking(one: Ticking): () => void {
  const least = [...phases].sort((a, b) => a.size - b.size)[0];
  least?.add(one);
  if (timer === null) {
    dueMs = performance.now() + PHASE_MS;
    timer = setTimeout(run, PHASE_MS);
  }
  return () => {
    least?.delete(one);
  };
}
