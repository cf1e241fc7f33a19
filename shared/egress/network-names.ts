import { Resolver, type LookupAddress } from "node:dns";

/** How names become addresses. */
export type Resolve = (
  hostname: string,
  options: { all: true },
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

/** The first wait for a name server, and how often it is asked; the second wait is twice as long. */
const ASKING = { timeout: 1500, tries: 2 };

/**
 * Resolves names by asking the name servers, beside each other without bound. The system's own way takes a thread of the process for each name, of which
 * there are a few for names, files and passwords together: whoever names hosts whose servers never answer would keep every other name from being resolved.
 * Of /etc/hosts it knows nothing. `servers`: others than the machine's.
 */
export const networkNames =
  (servers?: readonly string[]): Resolve =>
  (hostname, _options, callback) => {
    const resolver = new Resolver(ASKING); // one for each name, so that a change of the machine's servers holds
    if (servers !== undefined) resolver.setServers(servers);
    const found: LookupAddress[] = [];
    let failure: NodeJS.ErrnoException | null = null;
    let open = 2;
    const take =
      (family: 4 | 6) =>
      (error: NodeJS.ErrnoException | null, addresses: string[] | undefined): void => {
        failure ??= error;
        found.push(...(addresses ?? []).map((address) => ({ address, family })));
        open--;
        if (open === 0) callback(found.length > 0 ? null : failure, found);
      };
    resolver.resolve4(hostname, take(4));
    resolver.resolve6(hostname, take(6));
  };
