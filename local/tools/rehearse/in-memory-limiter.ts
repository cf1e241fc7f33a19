import {
  laidOutFor,
  layoutOf,
  roomAt,
  widened,
  type RateLimit,
  type RingState,
} from "../../../services/scheduler/limits/sliding-window.ts";

/** One limit and the ring of its grants, in memory: what the database does for the scheduler (rate-windows.repository.ts), by the same ring. */
export interface Tokens {
  limit: RateLimit | null;
  state(): RingState | null;
  /** How many calls may be placed at this instant; when none, from when on one may. */
  room(at: number): { free: number; next: number | null };
  /** Takes so many for an instant; to be asked for no more than are free. */
  take(at: number, count: number): void;
}

function granted(state: RingState, limit: RateLimit, at: Date): RingState {
  const { group, entries } = layoutOf(limit.max);
  if (group === 1) return { ...state, ring: [...state.ring.slice(state.ring.length >= entries ? 1 : 0), at] };
  if (state.filled < group) return { ...state, ring: [...state.ring.slice(0, -1), at], filled: state.filled + 1 };
  const oldest = state.ring[0] ?? new Date(0);
  return {
    ...state,
    ring: [...state.ring.slice(1), at],
    filled: 1,
    opened: new Date(oldest.getTime() + widened(limit)),
  };
}

/** Tokens of which none was taken yet; a limit of null gives without end. */
export function createTokens(limit: RateLimit | null): Tokens {
  let state: RingState | null = null;
  return {
    limit,
    state: () => state,
    room(at) {
      const { free, next } = roomAt(state, limit, new Date(at));
      return { free, next: next?.getTime() ?? null };
    },
    take(at, count) {
      if (limit === null) return;
      const when = new Date(at);
      let taken = laidOutFor(state, limit.max);
      for (let i = 0; i < count; i++) taken = granted(taken, limit, when);
      state = taken;
    },
  };
}
