import { afterAll, beforeAll, describe, jest, test } from "@jest/globals";
import { startBench, type CarrierBench } from "./carrier-bench.ts";
import type { CarrierDriver } from "./carrier-driver.ts";
import { callbackTests } from "./carrier-suite-callbacks.ts";
import { inboundTests } from "./carrier-suite-inbound.ts";
import { liveTests } from "./carrier-suite-lives.ts";
import { requestTests } from "./carrier-suite-requests.ts";
import { columnOf, expectColumn, type Proofs } from "./carrier-table.ts";

/** What every part of the suite works with. `proved`: what a passed test has shown, for the README's table. */
export interface Suite {
  b(): CarrierBench;
  proved: Proofs;
}

/**
 * What every carrier must do, over real sockets against its simulator: one call for each carrier, in its own test file. `name` is the carrier's column in the README's table
 * of features, which must say what the suite has shown.
 */
export function carrierSuite(name: string, make: () => Promise<CarrierDriver>): void {
  jest.setTimeout(20_000);
  const box: { bench?: CarrierBench } = {};
  const suite: Suite = {
    b: () => {
      if (!box.bench) throw new Error("the bench is not set yet");
      return box.bench;
    },
    proved: new Map(),
  };
  beforeAll(async () => {
    box.bench = await startBench(make);
    await suite.b().carrier.warm();
  });
  afterAll(() => box.bench?.close());

  describe(`${name}: requests`, () => requestTests(suite));
  describe(`${name}: callbacks`, () => callbackTests(suite));
  describe(`${name}: calls`, () => liveTests(suite));
  describe(`${name}: calls to our numbers`, () => inboundTests(suite));
  test(`${name}: the README's table says what was shown`, () =>
    expectColumn(name, columnOf(suite.b().carrier.capabilities, suite.proved)));
}
