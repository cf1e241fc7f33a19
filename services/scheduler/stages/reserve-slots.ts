import pLimit from "p-limit";
import type { ResultOf, ServiceDeps } from "../../../shared/bus/bus.ts";
import type { Cache } from "../../../shared/cache.ts";
import { callRef, sha256 } from "../../../shared/ids.ts";
import { countryOf } from "../../../shared/phone.ts";
import { partyKey, partyOf, type AdmissionInputs, type Party } from "../admission-inputs.ts";
import { admitLead } from "../admission/admission.ts";
import { failedQueues, type Deferred, type Dropped, type StageResult } from "../dispositions.ts";
import { droppedLead, type AdmittedLead } from "./admit-leads.ts";

/** An admitted lead with a number slot, reserved under its `holder`. */
export interface ReservedLead {
  admitted: AdmittedLead;
  holder: string;
  slot: NonNullable<ResultOf<"numbers.reserveMany">["lines"][number]>;
}

/** What the stage needs. */
export interface ReserveSlotsDeps extends Pick<ServiceDeps, "bus" | "env" | "nodeId"> {
  inputs: Pick<AdmissionInputs, "slotsFor">;
  /** Parties that were refused a slot a moment ago, by partyKey. */
  slotRefusals: Pick<Cache<true>, "set">;
}

/** One request to the numbers service: leads of one party. */
export interface SlotRequest {
  party: Party;
  same_country: boolean;
  leads: readonly AdmittedLead[];
}

/** A slot's first lease, in seconds: as long as claim and hand-over may take. The dialer renews it for the call. */
const FIRST_LEASE_SECONDS = 30;
const NODE_MARK_CHARS = 8;
/** Leads whose slots are counted side by side. */
const COUNTS_AT_ONCE = 20;

/** The requests for slots of these leads, one per party. Parties that want little ask first; among equals chance decides. */
export function slotRequests(
  admitted: readonly AdmittedLead[],
  { random }: Pick<ServiceDeps, "random">,
): SlotRequest[] {
  const requests = [...Map.groupBy(admitted, keyOf).values()].flatMap((leads) => {
    const [first] = leads;
    return first
      ? [{ party: partyOf(first.open.inputs.queue, first.plan), same_country: wantsHome(first), leads }]
      : [];
  });
  const lots = requests.map((request) => ({ request, lot: random() }));
  lots.sort((a, b) => a.request.leads.length - b.request.leads.length || a.lot - b.lot);
  return lots.map(({ request }) => request);
}

/** A callee without a country of its own has no number in it; its slot's country is checked afterwards. */
const wantsHome = ({ configuration, lead }: AdmittedLead): boolean =>
  !configuration.enable_international_call && countryOf(lead.phone_number) !== null;

const keyOf = (a: AdmittedLead): string => JSON.stringify([partyOf(a.open.inputs.queue, a.plan), wantsHome(a)]);

/** Whether the lead may be called from this number. */
const mayUse = (
  { configuration, gate_inputs }: AdmittedLead,
  phone_number: string,
  { env }: ReserveSlotsDeps,
): boolean =>
  configuration.enable_international_call ||
  (countryOf(phone_number) ?? env.DEFAULT_COUNTRY ?? null) === gate_inputs.country;

/** The leads among these that no number of their country can ever call. */
async function withoutNumber(leads: readonly AdmittedLead[], deps: ReserveSlotsDeps): Promise<Dropped[]> {
  const homebound = leads.filter((a) => !a.configuration.enable_international_call);
  const dropped = await pLimit(COUNTS_AT_ONCE).map(
    homebound,
    async ({ open, lead, gate_inputs }): Promise<Dropped[]> => {
      const slots = await deps.inputs.slotsFor(open.inputs, gate_inputs.country);
      const admission = admitLead({ ...gate_inputs, slots });
      return admission.verdict === "dropped" ? [droppedLead(open.inputs, lead, admission)] : [];
    },
  );
  return dropped.flat();
}

/**
 * Reserves a slot for each lead of one party. The holder carries this node's mark: a replica that loses the claim must not
 * release the winner's slot. A queue none of whose leads got a slot waits for one.
 */
export async function reserveSlots(
  { party, same_country, leads }: SlotRequest,
  deps: ReserveSlotsDeps,
): Promise<StageResult<ReservedLead>> {
  const mark = sha256(deps.nodeId).slice(0, NODE_MARK_CHARS);
  const holders = leads.map(({ lead }) => `${callRef(lead.lead_id, lead.claim_no + 1)}~${mark}`);
  const wants = leads.map(({ lead }, i) => ({ to: lead.phone_number, holder: holders[i] ?? "" }));
  try {
    const request = { ...party, lease_seconds: FIRST_LEASE_SECONDS, same_country, wants };
    const { lines: slots } = await deps.bus.call("numbers.reserveMany", request);
    const ok: ReservedLead[] = [];
    const foreign: string[] = [];
    const without: AdmittedLead[] = [];
    leads.forEach((admitted, i) => {
      const slot = slots[i];
      const holder = holders[i] ?? "";
      if (slot && mayUse(admitted, slot.phone_number, deps)) {
        ok.push({ admitted, holder, slot });
        return;
      }
      if (slot) foreign.push(holder);
      without.push(admitted);
    });
    if (without.length > 0 && !same_country) deps.slotRefusals.set(partyKey(party), true);
    const served = new Set(ok.map(({ admitted }) => admitted.open.inputs.queue.queue));
    const deferred = without.flatMap(({ open, configuration }): Deferred[] => {
      const { queue } = open.inputs.queue;
      return served.has(queue) ? [] : [{ kind: "slot", queue, provider: configuration.calling_provider }];
    });
    if (foreign.length > 0) deferred.push({ kind: "slots", holders: foreign });
    return { ok, deferred, dropped: await withoutNumber(without, deps) };
  } catch (error) {
    const queues = leads.map(({ open }) => open.inputs.queue);
    return { ok: [], deferred: failedQueues(queues, error), dropped: [] };
  }
}
