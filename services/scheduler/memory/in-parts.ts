import { isRefused } from "../../../shared/database/database-errors.ts";
import { codeOf, isOutOfReach } from "../../../shared/errors.ts";

/** Items that fail alone before the rest of a failed part is not asked for any more. */
const MAX_ALONE = 10;

/** Whether an error says nothing about what was asked for: whatever is asked now fails. */
export const isAway = (error: unknown): boolean => isOutOfReach(codeOf(error)) || isRefused(error);

/**
 * Reads for a list, and where that fails for halves of it, down to single items: what can't be read must not keep the rest from being read. `read` keeps
 * what it reads, and may be given an item again. The items that failed, with their errors; an error that says that a whole service is away is thrown.
 */
export async function inParts<T>(
  items: readonly T[],
  read: (some: readonly T[]) => Promise<void>,
): Promise<Map<T, unknown>> {
  const failed = new Map<T, unknown>();
  const waiting = items.length === 0 ? [] : [items];
  for (let part = waiting.pop(); part !== undefined; part = waiting.pop()) {
    try {
      await read(part);
    } catch (error) {
      if (isAway(error)) throw error;
      const half = Math.ceil(part.length / 2);
      if (part.length > 1 && failed.size < MAX_ALONE) waiting.push(part.slice(half), part.slice(0, half));
      else for (const item of part) failed.set(item, error);
    }
  }
  return failed;
}
