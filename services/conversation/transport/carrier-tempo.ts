/** A turn at which nothing happened lasts at least this part of what it should, however fast the carrier's voice speaks. */
const LEAST_PART = 0.7;

/** Whether a carrier's time runs like ours: only then does the time that passed tell what was heard. One that plays a talk in haste, as simulated ones do, is not believed. */
export interface CarrierTempo {
  /** A turn at which the customer did nothing took so long, and should have taken so long. */
  observe(ms: number, expected_ms: number): void;
  isRealTime(): boolean;
}

/** Starts with a carrier that is not known yet: until its pace is, our words count as heard. */
export function carrierTempo(): CarrierTempo {
  let ours = false;
  return {
    observe(ms, expected_ms) {
      ours = ms >= expected_ms * LEAST_PART;
    },
    isRealTime: () => ours,
  };
}
