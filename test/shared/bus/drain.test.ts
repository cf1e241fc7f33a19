import { isNeeded } from "../../../shared/bus/drain.ts";

const stays = (...services: string[]) => ({ services, draining: false, calls: 0 });
const drains = (calls: number, ...services: string[]) => ({ services, draining: true, calls });

describe("whether a process that drains is still needed", () => {
  test.each([
    ["nobody else is there", ["leads"], [], false],
    ["another of its kind stays", ["leads"], [stays("leads"), drains(3, "conversation")], false],
    [
      "calls are under way in a process that drains, and it is the last of its kind",
      ["leads"],
      [drains(3, "conversation")],
      true,
    ],
    ["the others of its kind drain too", ["dialer"], [drains(0, "dialer"), drains(1, "conversation")], true],
    ["the calls are over", ["gateway"], [drains(0, "conversation")], false],
    ["no call needs its service", ["scheduler"], [drains(3, "conversation")], false],
    ["conversations go on elsewhere: only it is replaced", ["dialer"], [stays("conversation")], false],
  ])("%s: %j", (_case, own, neighbours, needed) => {
    expect(isNeeded(own, neighbours, false)).toBe(needed);
  });
  test("just after SIGTERM it waits for those to hear theirs who lead conversations", () => {
    expect(isNeeded(["leads"], [stays("conversation")], true)).toBe(true);
    expect(isNeeded(["leads"], [stays("conversation"), stays("leads")], true)).toBe(false);
    expect(isNeeded(["leads"], [stays("webhook")], true)).toBe(false);
  });
});
