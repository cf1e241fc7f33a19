/* The pure surface of the dialer: what tools outside of the services may import. */
export { longestSeconds, ownersOf, worstCase } from "./spend/spend-amounts.ts";
export { emptyLedger, reserve, settle, type Ledger } from "./spend/spend-reservations.ts";
export { roomIn } from "./spend/spend-room.ts";
