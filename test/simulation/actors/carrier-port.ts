import type { Carriers } from "../../../services/dialer/carriers/carrier-registry.ts";
import {
  bareTranslation,
  type AnswerDocument,
  type CallProgress,
  type CarrierPort,
  type DialAnswer,
  type DialRequest,
} from "../../../services/dialer/carriers/carrier-port.ts";
import { fail } from "../../../shared/errors.ts";
import { CARRIER_NOT_ASKED, LEAVES_LATE } from "../checks/mutations.ts";
import { isHeld, type Carrier } from "./carrier.ts";
import { theScene, type Scene } from "../engine/scene.ts";
import type { SimLife, Stage, StepHow } from "../engine/process.ts";

const RETRY_AFTER_MAX_S = 12;
const HANGS_MS = 15_000;
/** How often a dial needs a connection of its own, and the longest that takes. */
const NEW_CONNECTION = 0.1;
const CONNECT_MAX_MS = 400;
const EMPTY: AnswerDocument = { content_type: "text/xml; charset=utf-8", body: "<Response/>" };

/** What a callback carries in the simulation. */
export interface SimCallback {
  call_id: string;
  told: number;
  progress: CallProgress[];
}

const takesMs = (stage: Stage): StepHow => ({
  outMs: stage.world.random.between(10, 120),
  backMs: stage.world.random.between(10, 200),
});

/** Asks the carrier once. What goes wrong goes wrong here: nothing placed, placed and not told, told as an error. */
async function dial(stage: Stage, life: SimLife, carrier: Carrier, request: DialRequest): Promise<DialAnswer> {
  const { faults, world } = stage;
  // a connection may have to be made first, and code to be loaded
  const connecting = world.random.chance(NEW_CONNECTION) ? world.random.between(0, CONNECT_MAX_MS) : 0;
  if (connecting > 0)
    await new Promise<void>((resolve) => {
      world.after(connecting, life, resolve);
    });
  if (theScene().mutation !== LEAVES_LATE && request.may_leave?.() === false) {
    stage.count("dial held back");
    return { kind: "not_sent" };
  }
  carrier.decide(request, life.process.name);
  const struck = (what: string, p: number): boolean => stage.strikes(what, p);
  const how = takesMs(stage);
  if (struck("dial 429", faults.dial429))
    return stage.step(
      life,
      "dial",
      (): DialAnswer => ({
        kind: "not_placed",
        retry_after_seconds: world.random.chance(0.5) ? world.random.whole(1, RETRY_AFTER_MAX_S) : null,
        reason: "too many requests",
      }),
      how,
    );
  if (struck("dial refused", faults.dialRefused))
    return stage.step(
      life,
      "dial",
      (): DialAnswer => ({ kind: "not_placed", retry_after_seconds: null, reason: "connection refused" }),
      how,
    );
  if (struck("dial invalid", faults.dialInvalid))
    return stage.step(
      life,
      "dial",
      (): DialAnswer => ({
        kind: "refused",
        invalid_number: world.random.chance(0.5),
        carrier_code: "21211",
        reason: "no",
      }),
      how,
    );
  const hangs = { ...how, backMs: world.random.chance(0.5) ? HANGS_MS : how.backMs };
  const uncertain = (reason: string): DialAnswer => ({ kind: "uncertain", reason });
  if (struck("dial lost", faults.dialLost))
    return stage.step(life, "dial", () => uncertain("the connection broke"), hangs);
  if (struck("dial placed, no reply", faults.dialNoReply))
    return stage.step(
      life,
      "dial",
      () => {
        carrier.place(request);
        return uncertain("no reply");
      },
      hangs,
    );
  if (struck("dial placed, error reply", faults.dialErrorReply))
    return stage.step(
      life,
      "dial",
      () => {
        carrier.place(request);
        return uncertain("HTTP 500");
      },
      how,
    );
  return stage.step(
    life,
    "dial",
    (): DialAnswer => {
      const call = carrier.place(request);
      return { kind: "placed", call_id: call.id, queued_ms: call.queued_ms };
    },
    how,
  );
}

/** The carrier as one process of the dialer reaches it. */
export function simulatedCarriers({ stage, carrier, mutation }: Scene, life: SimLife): Carriers {
  const ask = <T>(what: string, work: () => T): Promise<T> =>
    stage.step(
      life,
      what,
      () => {
        if (stage.strikes("carrier down", stage.faults.carrierDown))
          fail("DEPENDENCY_DOWN", "the carrier does not answer");
        return work();
      },
      takesMs(stage),
    );
  const port: CarrierPort = {
    id: "twilio",
    capabilities: {
      speech: "relay",
      machine_detection: true,
      names_ender: false,
      beep: false,
      recording: "none",
      signs_upgrade: false,
      dtmf: "media",
    },
    warm: () => Promise.resolve(),
    dial: (request) => dial(stage, life, carrier, request),
    hangUp: ({ call_id }) => ask(`hang up ${call_id}`, () => carrier.hangUp(call_id)),
    transfer: () => Promise.resolve(),
    fetch: ({ call_id }) => ask(`fetch ${call_id}`, () => carrier.fetch(call_id)),
    find: (sought) => ask("find", () => carrier.find(sought)),
    holds: (phone_number) => ask(`holds ${phone_number}`, () => mutation === CARRIER_NOT_ASKED || isHeld(phone_number)),
    verify: () => true,
    verifyUpgrade: () => true,
    translate: (_kind, request) => {
      const { call_id, told, progress } = JSON.parse(request.body) as SimCallback;
      return { ...bareTranslation(call_id), sequence: String(told), progress };
    },
    answerDocument: () => EMPTY,
    sendDtmf: () => Promise.resolve(),
    record: () => Promise.resolve(),
    inbound: () => null,
    recordingsOf: () => Promise.resolve([]),
    openRecording: () => fail("NOT_AVAILABLE", "nothing is recorded here"),
    farewellDocument: () => null,
    answerInbound: () => Promise.resolve(EMPTY),
  };
  return { of: () => port, find: () => port, all: () => [port], variables: () => [] };
}
