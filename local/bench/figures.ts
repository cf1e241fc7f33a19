/** Rounds of one contestant. */
export interface Figures {
  name: string;
  rounds: number[];
}

/** The middle value; of two middle values the lower. */
export const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor((values.length - 1) / 2)] ?? 0;

/** The value below which the share `q` (0.99) of the values lies. */
export const quantile = (values: readonly number[], q: number): number =>
  [...values].sort((a, b) => a - b)[Math.max(0, Math.ceil(values.length * q) - 1)] ?? 0;

const figure = (n: number): string => (n >= 100 ? Math.round(n).toLocaleString("en") : n.toFixed(1));

/** One line: median with smallest and largest round, and the ratio to a reference. */
export function lineOf(f: Figures, reference?: Figures, unit = "/s"): string {
  const ratio = reference ? `  ${(median(f.rounds) / median(reference.rounds)).toFixed(2)} of ${reference.name}` : "";
  return `${f.name.padEnd(34)} ${figure(median(f.rounds)).padStart(9)} ${unit}  [${figure(Math.min(...f.rounds))} – ${figure(Math.max(...f.rounds))}]${ratio}`;
}

interface CpuProfile {
  nodes: { id: number; callFrame: { functionName: string; url: string; lineNumber: number } }[];
  samples: number[];
  timeDeltas: number[];
}

const TOP = 10;

/** Where the time goes, by package or folder: shares of self time of a V8 CPU profile, idle left out. */
export function topOf(profile: CpuProfile): string[] {
  const self = new Map<string, number>();
  const nodes = new Map(profile.nodes.map((n) => [n.id, n]));
  let total = 0;
  profile.samples.forEach((id, i) => {
    const node = nodes.get(id);
    if (!node || node.callFrame.functionName === "(idle)" || node.callFrame.functionName === "(root)") return;
    const { url, functionName } = node.callFrame;
    const place =
      /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1] ??
      /\/(services\/[^/]+|shared)\//.exec(url)?.[1] ??
      (url === "" ? functionName : url.replace(/^.*\//, ""));
    const delta = profile.timeDeltas[i] ?? 0;
    total += delta;
    self.set(place, (self.get(place) ?? 0) + delta);
  });
  return [...self]
    .sort((a, b) => b[1] - a[1])
    .slice(0, TOP)
    .map(([place, us]) => `${((us / total) * 100).toFixed(1).padStart(5)} %  ${place}`);
}

const TOP_FUNCTIONS = 15;

/** The functions with the largest share of self time, idle left out. */
export function topFunctions(profile: CpuProfile): string[] {
  const nodes = new Map(profile.nodes.map((n) => [n.id, n]));
  const self = new Map<string, number>();
  let total = 0;
  profile.samples.forEach((id, i) => {
    const { functionName = "", url = "", lineNumber = 0 } = nodes.get(id)?.callFrame ?? {};
    if (functionName === "(idle)" || functionName === "(root)") return;
    const name = `${functionName === "" ? "(anonymous)" : functionName}${url === "" ? "" : ` ${url.replace(/^.*\/(?=(?:[^/]+\/){0,2}[^/]+$)/, "")}:${lineNumber + 1}`}`;
    const delta = profile.timeDeltas[i] ?? 0;
    total += delta;
    self.set(name, (self.get(name) ?? 0) + delta);
  });
  return [...self]
    .sort((a, b) => b[1] - a[1])
    .slice(0, TOP_FUNCTIONS)
    .map(([name, us]) => `${((us / total) * 100).toFixed(1).padStart(5)} %  ${name}`);
}
