/** One line of the simulated carrier's ledger, as far as it is shown. */
export interface LedgerEntry {
  seq: number;
  at: string;
  kind: string;
  call_sid?: string;
  /** The attempt that the call is of, `<lead_id>.<claim_no>`; null where the carrier was told none. */
  reference?: string | null;
  to?: string;
  text?: string;
  by?: string;
  status?: string | number;
  digit?: string;
  interrupted?: boolean;
}

const RECONNECT_MS = 300;
const ASK_MS = 2000;

/** How many calls the carrier has under way; 0 where it can't be asked. */
export async function callsUnderWay(carrierUrl: string): Promise<number> {
  try {
    const answer = await fetch(`${carrierUrl}/ledger/calls`, { signal: AbortSignal.timeout(ASK_MS) });
    const { calls } = (await answer.json()) as { calls: { ended_at: string | null }[] };
    return calls.filter(({ ended_at }) => ended_at === null).length;
  } catch {
    return 0;
  }
}

/** Follows the ledger over its event stream until stopped, from now on; reconnects when the carrier was restarted. */
export function followLedger(carrierUrl: string, onEntry: (entry: LedgerEntry) => void): { stop(): void } {
  const stopping = new AbortController();
  const began = new Date().toISOString();
  let last = 0;
  const take = (entry: LedgerEntry): void => {
    last = entry.seq;
    if (entry.at >= began) onEntry(entry);
  };
  const run = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      try {
        const answer = await fetch(`${carrierUrl}/ledger/stream?since=${last}`, { signal: stopping.signal });
        let rest = "";
        for await (const chunk of answer.body?.pipeThrough(new TextDecoderStream()) ?? []) {
          rest += chunk;
          const lines = rest.split("\n");
          rest = lines.pop() ?? "";
          for (const line of lines)
            if (line.startsWith("data:")) take(JSON.parse(line.slice("data:".length)) as LedgerEntry);
        }
      } catch {
        /* the carrier is away or we are stopping: the loop decides */
      }
      if (!stopping.signal.aborted) await new Promise((resolve) => setTimeout(resolve, RECONNECT_MS));
    }
  };
  void run();
  return { stop: () => stopping.abort() };
}
