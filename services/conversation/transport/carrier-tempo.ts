/** A turn without input lasts at least this share of its expected length, however fast the carrier's voice speaks. */
const MIN_SHARE = 0.7;

/** Whether a carrier plays calls in real time: only then does elapsed time show what was heard. Simulated carriers may play faster. */
export interface CarrierTempo {
  /** Reports how long a turn without input took and should have taken. */
  observe(ms: number, expected_ms: number): void;
  isRealTime(): boolean;
}

/** The tempo of an unknown carrier: not real time until a turn shows it. */
export function carrierTempo(): CarrierTempo {
  let realTime = false;
  return {
    observe(ms, expected_ms) {
      realTime = ms >= expected_ms * MIN_SHARE;
    },
    isRealTime: () => realTime,
  };
}
