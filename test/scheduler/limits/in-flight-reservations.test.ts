import { createInFlightReservations } from "../../../services/scheduler/limits/in-flight-reservations.ts";

test("a reservation counts until its permit is asked for, or for three seconds", () => {
  const s = createInFlightReservations();
  for (let i = 0; i < 3; i++) s.add("window", 100 * i);
  s.redeem("window");
  s.redeem("other");
  expect([s.count("window", 300), s.count("window", 3150), s.count("window", 3250), s.count("other", 0)]).toEqual([
    2, 1, 0, 0,
  ]);
});
