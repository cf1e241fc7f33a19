import { fail, messageOf } from "../../shared/errors.ts";

const thrown = (work: () => never): unknown => {
  try {
    return work();
  } catch (error) {
    return error;
  }
};

describe("what a record says of an error", () => {
  test.each<[string, unknown, string]>([
    [
      "our own words of a failure",
      thrown(() => fail("NOT_AVAILABLE", "This deployment has no speech.")),
      "This deployment has no speech.",
    ],
    [
      "the catalogue's of a driver's",
      Object.assign(new Error("connect ECONNREFUSED 10.0.0.7:27017"), { name: "MongoNetworkError" }),
      "The database did not take the request.",
    ],
    [
      "the catalogue's of a framework's",
      Object.assign(new Error("Service 'config.plans' is not found on 'web-1'."), { type: "SERVICE_NOT_FOUND" }),
      "A part of the service is not reachable.",
    ],
    ["the catalogue's of anything else", new TypeError("x is not a function"), "An unexpected fault."],
    ["the catalogue's of no error at all", "text", "An unexpected fault."],
  ])("%s", (_what, error, said) => {
    expect(messageOf(error)).toBe(said);
  });
});
