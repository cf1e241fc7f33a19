"use strict";
// Jest environment with one global object for all test files of a worker: what node_modules hold is loaded into it once (shared-libraries.cjs),
// and sees the same Array, Error and Promise as each test file. The global is an ordinary one, without jest's proxy, so reading a global costs nothing.
const { getPriority, setPriority } = require("node:os");
const { createContext, constants, runInContext } = require("node:vm");
const { ModernFakeTimers } = require("@jest/fake-timers");
const { ModuleMocker } = require("jest-mock");
const { installCommonGlobals } = require("jest-util");

/** Globals of Node that each context has of its own, or that are given to it below. */
const OWN = new Set(["GLOBAL", "root", "global", "globalThis", "Buffer", "ArrayBuffer", "Uint8Array"]);
const NODE_GLOBALS = Object.getOwnPropertyNames(globalThis)
  .filter((name) => !OWN.has(name))
  .map((name) => [name, forOther(name)]);

/** How a global of ours is defined on another one: Node's accessors answer to the worker's global only. */
function forOther(name) {
  const descriptor = Object.getOwnPropertyDescriptor(globalThis, name);
  if ("value" in descriptor) return descriptor;
  const { enumerable } = descriptor;
  return {
    configurable: true,
    enumerable,
    get: () => globalThis[name],
    set(value) {
      Object.defineProperty(this, name, { configurable: true, enumerable, writable: true, value });
    },
  };
}

/** Where `expect` keeps its matchers and counts. It makes this itself if it finds none, but then for as long as the global lives. */
const MATCHERS = Symbol.for("$$jest-matchers-object");
const noMatchers = () => ({
  customEqualityTesters: [],
  matchers: Object.create(null),
  state: {
    assertionCalls: 0,
    expectedAssertionsNumber: null,
    isExpectingAssertions: false,
    numPassingAsserts: 0,
    suppressedErrors: [],
  },
});
/** A file that computes leaves the cores to the processes of one that starts the product, as a machine of their own would (two-lanes.cjs). */
const COMPUTING_NICE = 3;
/** Of jest's own environment: a trace that ends before our code helps nobody. */
const STACK_FRAMES = 100;

/** The worker's context, its global, the global's properties as a test file finds them, and those that libraries have put there. */
let shared;

function makeContext() {
  const context = createContext(constants.DONT_CONTEXTIFY);
  const global = runInContext("globalThis", context);
  for (const [name, descriptor] of NODE_GLOBALS)
    if (!Object.hasOwn(global, name)) Object.defineProperty(global, name, descriptor);
  // the same bytes in Node's own modules, which know the worker's classes only
  Object.assign(global, { global, Buffer, ArrayBuffer, Uint8Array });
  installCommonGlobals(global, {});
  global.Error.stackTraceLimit = STACK_FRAMES;
  return { context, global, initial: Object.getOwnPropertyDescriptors(global), ofLibraries: new Set() };
}

const differs = (one, other) => one.value !== other.value || one.get !== other.get || one.set !== other.set;

/** Gives the global back as it was made, apart from what libraries keep there and what cannot be deleted (jest's queue of open files); `process`, with its `env`, is a new copy. */
function restore({ global, initial, ofLibraries }) {
  for (const key of Reflect.ownKeys(global)) {
    const first = initial[key];
    if (first !== undefined) {
      if (differs(first, Object.getOwnPropertyDescriptor(global, key))) Object.defineProperty(global, key, first);
    } else if (!ofLibraries.has(key)) Reflect.deleteProperty(global, key);
  }
  global.process = installCommonGlobals({ Symbol, Date }, {}).process;
  // Moleculer's Fake transporter: brokers of an earlier file that were not stopped must not hear this one's
  if (global.bus !== undefined) global.bus = new global.bus.constructor({ wildcard: true, maxListeners: 100 });
}

/** What a worker's libraries run in. `loading` runs a load, and notes the globals it leaves as the libraries' own. */
function librariesEnvironment() {
  const { context, global, ofLibraries } = shared;
  return {
    global,
    moduleMocker: new ModuleMocker(global),
    fakeTimers: null,
    fakeTimersModern: null,
    getVmContext: () => context,
    exportConditions: () => SharedContext.CONDITIONS,
    loading(load) {
      const before = new Set(Reflect.ownKeys(global));
      try {
        return load();
      } finally {
        for (const key of Reflect.ownKeys(global)) if (!before.has(key)) ofLibraries.add(key);
      }
    },
  };
}

class SharedContext {
  static CONDITIONS = ["node", "node-addons"];

  constructor({ globalConfig, projectConfig }) {
    if (globalConfig.lane === "computing" && getPriority() < COMPUTING_NICE) setPriority(COMPUTING_NICE);
    if (shared === undefined) shared = makeContext();
    else restore(shared);
    Object.defineProperty(shared.global, MATCHERS, { configurable: true, value: noMatchers() });
    this.context = shared.context;
    this.global = shared.global;
    Object.assign(this.global, projectConfig.globals);
    this.moduleMocker = new ModuleMocker(this.global);
    this.fakeTimers = null;
    this.fakeTimersModern = new ModernFakeTimers({ config: projectConfig, global: this.global });
  }

  async setup() {}

  async teardown() {
    this.fakeTimersModern.dispose();
    this.context = null;
  }

  exportConditions() {
    return SharedContext.CONDITIONS;
  }

  getVmContext() {
    return this.context;
  }
}

module.exports = SharedContext;
module.exports.librariesEnvironment = librariesEnvironment;
