import { loginGuard } from "../../../services/auth/login/login.ts";
import { virtualClock } from "../../fixtures/virtual-clock.ts";

const OWNER = "203.0.113.7";
const clock = virtualClock();
let guard: ReturnType<typeof loginGuard>;
beforeEach(() => {
  guard = loginGuard(clock);
});

/** Seconds to wait; 0: the try was taken. */
const fails = (email: string, address: string): number => {
  try {
    guard.countTry(email, address);
    return 0;
  } catch (error) {
    return (error as { data: { retry_after_seconds: number } }).data.retry_after_seconds;
  }
};
const succeeds = (email: string, address: string): void => guard.countTry(email, address)();

test("who guesses is held up at its address, twice as long each time, up to an hour; the owner elsewhere is not", async () => {
  for (let i = 0; i < 10; i++) expect(fails("root@x", "a")).toBe(0);
  for (const seconds of [60, 120, 240, 480, 960, 1920, 3600, 3600]) {
    expect(fails("root@x", "a")).toBe(seconds);
    succeeds("root@x", OWNER);
    await clock.advance(seconds * 1000);
    expect(fails("root@x", "a")).toBe(0);
  }
  expect(fails("other@x", "a")).toBe(0);
});

test("a log-in that succeeds forgets the failures before it, and so does a longest pause without any", async () => {
  for (let i = 0; i < 9; i++) fails("root@x", "a");
  succeeds("root@x", "a");
  for (let i = 0; i < 10; i++) expect(fails("root@x", "a")).toBe(0);
  expect(fails("root@x", "a")).toBe(60);
  await clock.advance(60_000 + 3_600_000);
  for (let i = 0; i < 10; i++) expect(fails("root@x", "a")).toBe(0);
});

test("guesses from many addresses end at the wide limit, which does not hold where the e-mail has logged in", async () => {
  succeeds("root@x", OWNER);
  for (let i = 0; i < 1000; i++) expect(fails("root@x", `a${i}`)).toBe(0);
  expect(fails("root@x", "one more")).toBe(3600);
  succeeds("root@x", OWNER);
  await clock.advance(3_600_000);
  expect(fails("root@x", "one more")).toBe(0);
});
