"use strict";
// Jest runtime that loads what lies in node_modules once per worker, and the project's own modules anew for each test file, as jest does.
// Reading and linking the libraries was most of what a test file cost.
const { sep } = require("node:path");
const { pathToFileURL } = require("node:url");
const { default: Runtime } = require("jest-runtime");
const { librariesEnvironment } = require("./shared-context.cjs");

const LIBRARY = `${sep}node_modules${sep}`;

/** The worker's libraries: a runtime that no file tears down, so that they may load more of themselves at any time. */
let libraries;

function makeLibraries(config, resolver, transformer, coverage, globalConfig) {
  const environment = librariesEnvironment();
  const runtime = new Runtime(config, environment, resolver, transformer, new Map(), coverage, "", globalConfig);
  runtime.enterTestCode();
  return { runtime, loading: environment.loading };
}

/** A library's module for `import`, evaluated; undefined where it has to be loaded asynchronously, which each file then does for itself. */
function moduleOf(path, from) {
  const { runtime, loading } = libraries;
  const { esmLoader } = runtime;
  return loading(() => {
    const asEsm = runtime.unstable_shouldLoadAsEsm(path);
    const made = asEsm
      ? esmLoader.tryLoadGraphSync(path, "", "sync-preferred")
      : esmLoader.loadCjsAsEsm(from, path, "", esmLoader.getContext());
    return made.status === "evaluated" ? made : undefined;
  });
}

class SharedLibraries extends Runtime {
  constructor(config, environment, resolver, transformer, sources, coverage, testPath, globalConfig) {
    super(config, environment, resolver, transformer, sources, coverage, testPath, globalConfig);
    libraries ??= makeLibraries(config, resolver, transformer, coverage, globalConfig);
    const loader = this.esmLoader;
    const { resolveSpecifierForSyncGraph, resolveModule } = loader;
    // both ways to a module's dependencies look into the file's registry first
    loader.resolveSpecifierForSyncGraph = (from, specifier, ...rest) => {
      this.register(from, specifier);
      return resolveSpecifierForSyncGraph.call(loader, from, specifier, ...rest);
    };
    loader.resolveModule = (specifier, from, ...rest) => {
      if (!this.testState.isTornDown()) this.register(from, specifier);
      return resolveModule.call(loader, specifier, from, ...rest);
    };
  }

  /** Puts a library's module into this file's registry. */
  register(from, specifier) {
    if (specifier.startsWith(".") || specifier.startsWith("data:") || specifier === "@jest/globals") return;
    if (this._resolution.isCoreModule(specifier)) return;
    const path = this._resolution.resolveEsm(from, specifier);
    if (!path.includes(LIBRARY) || path.endsWith(".json")) return;
    const registry = this.registries.getActiveEsmRegistry();
    const { href } = pathToFileURL(path);
    if (registry.has(href)) return;
    const module = moduleOf(path, from);
    if (module !== undefined) registry.set(href, module);
  }

  requireModule(from, name, options, actual) {
    const internal = options?.isInternalModule ?? false;
    if (internal || name === undefined || this._resolution.isCoreModule(name))
      return super.requireModule(from, name, options, actual);
    if (!this._resolution.resolveCjs(from, name).includes(LIBRARY))
      return super.requireModule(from, name, options, actual);
    return libraries.loading(() => libraries.runtime.requireModule(from, name));
  }
}

module.exports = SharedLibraries;
