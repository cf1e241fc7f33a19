import type { Bus, ParamsOf } from "../../../shared/bus.ts";
import type { Preparation, Prepared } from "../../../shared/contracts/conversation.ts";
import { codeOf, fail } from "../../../shared/errors.ts";
import { joining } from "../../../shared/joining.ts";
import { inParts, MAX_PACKET_BYTES, packets } from "../../../shared/packets.ts";

type KeptLine = ParamsOf<"numbers.keepMany">["lines"][number];
type Pair = ParamsOf<"blacklist.check">["pairs"][number];

/** What attempts that run side by side ask other services for: those of one moment share a request. Each attempt reads as if it were alone. */
export interface Together {
  /** Listed since it was queued? Anything but a clear no is a yes. */
  listed(pair: Pair): Promise<boolean>;
  /** Where the talk waits for its call; a refusal is thrown. */
  prepare(call: Preparation): Promise<Prepared>;
  /** Prolongs the line of this holder; false: its time was over, and it may be another's. */
  keepLine(line: KeptLine): Promise<boolean>;
  /** Frees the line of this holder; freeing twice is no fault. Throws when numbers can't be reached: for callers who come back to it. */
  freeLine(holder: string): Promise<void>;
  /** The same for callers who don't: what can't be freed now is owed, and paid by `payLines`. */
  letLineGo(holder: string): Promise<void>;
  /** Frees the lines that are owed. Throws when numbers can't be reached still. */
  payLines(): Promise<void>;
}

/** Items of one request. */
const MAX_ITEMS = 200;
/** Lines that are owed at most; the leases of others run out by themselves. */
const MAX_OWED = 10_000;
const bytesOf = (call: Preparation): number => Buffer.byteLength(JSON.stringify(call));

/** Joins the requests of one process. */
export function createTogether(bus: Bus): Together {
  const prepare = joining(async (calls: Preparation[]) => {
    const answers = await Promise.all(
      packets(calls, bytesOf, MAX_PACKET_BYTES).map((some) => bus.call("conversation.prepareMany", { calls: some })),
    );
    return answers.flatMap(({ results }) => results);
  }, MAX_ITEMS);
  const free = joining(async (holders: string[]) => {
    await bus.call("numbers.releaseMany", { holders });
    return holders;
  }, MAX_ITEMS);
  const owed = new Set<string>();
  return {
    listed: joining(async (pairs: Pair[]) => {
      const { listed } = await bus.call("blacklist.check", { pairs });
      return pairs.map((_pair, i) => listed[i] !== false);
    }, MAX_ITEMS),
    async prepare(call) {
      const { prepared, refusal } = await prepare(call);
      return (
        prepared ??
        fail(
          codeOf({ type: refusal?.code }),
          refusal?.message ?? "The conversation service gave no address for the call.",
        )
      );
    },
    keepLine: joining(async (lines: KeptLine[]) => (await bus.call("numbers.keepMany", { lines })).kept, MAX_ITEMS),
    async freeLine(holder) {
      await free(holder);
    },
    async letLineGo(holder) {
      try {
        await free(holder);
      } catch {
        if (owed.size < MAX_OWED) owed.add(holder);
      }
    },
    async payLines() {
      for (const holders of inParts([...owed], MAX_ITEMS)) {
        await bus.call("numbers.releaseMany", { holders });
        for (const holder of holders) owed.delete(holder);
      }
    },
  };
}
