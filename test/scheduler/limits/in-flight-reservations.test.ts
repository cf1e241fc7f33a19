import { createInFlightReservations } from "../../../services/scheduler/limits/in-flight-reservations.ts";

test("leads are picked as far ahead as their way to the permit takes, and expected for no longer than twice that", () => {
  const s = createInFlightReservations();
  expect(s.aheadMs()).toBe(100);
  s.passTook(400);
  s.askedAfter(600);
  expect(s.aheadMs()).toBe(1100);
  s.askedAfter(1100);
  expect(s.aheadMs()).toBe(1200);
  s.add("window", 0);
  expect([s.count("window", 2690), s.count("window", 2710)]).toEqual([1, 0]);
  for (let i = 0; i < 60; i++) s.askedAfter(60_000);
  expect(s.aheadMs()).toBe(5100);
});

test("a reservation counts until its permit is asked for, or for three seconds", () => {
  const s = createInFlightReservations();
  for (let i = 0; i < 3; i++) s.add("window", 100 * i);
  s.redeem("window");
  s.redeem("other");
  expect([s.count("window", 300), s.count("window", 3150), s.count("window", 3250), s.count("other", 0)]).toEqual([
    2, 1, 0, 0,
  ]);
});
