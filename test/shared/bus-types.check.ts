import { service, type Bus } from "../../shared/bus/bus.ts";

/** Negative type tests of the bus: tsc fails when one of these stops being an error. */
export async function check(bus: Bus): Promise<void> {
  const due = await bus.call("leads.dueOf", { queues: [], until: "2026-11-21T10:00:00.000Z" });
  const status: "BACKLOG" | "RETRY" | undefined = due.leads[0]?.status;
  void status;
  // @ts-expect-error unknown action
  await bus.call("leads.nope", { id: "x" });
  // @ts-expect-error wrong params
  await bus.call("leads.dueOf", { queue: [], until: "2026-11-21T10:00:00.000Z" });
  // @ts-expect-error unknown event
  bus.emit("lead.finnished", { lead_id: "x", outcome: "y" });
  // @ts-expect-error wrong payload
  bus.emit("lead.finished", { lead_id: 1, outcome: "y" });
  // @ts-expect-error actions of the contract are missing
  service("conversation", () => ({ actions: {} }));
}
