import { windowState, type CallingWindow, type WindowState } from "../../../shared/calling-window.ts";
import { SHORTEST_RING_SECONDS } from "../../../shared/contracts/scheduler.ts";

/** The window's state for somebody who wants to ring: a window that closes sooner than a phone can ring counts as closed. */
export function ringableState(window: CallingWindow, at: Date): WindowState {
  const state = windowState(window, at);
  if (
    !state.open ||
    state.closes_at === null ||
    state.closes_at.getTime() - at.getTime() >= SHORTEST_RING_SECONDS * 1000
  )
    return state;
  const after = windowState(window, state.closes_at);
  return after.open ? state : after;
}
