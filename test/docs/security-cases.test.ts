import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { VARIABLES, type Variable } from "../../shared/process/variables.ts";
import { readCompose, variablesOf, type Container } from "../deploy/compose-file.ts";
import { pageAt, ROOT } from "./pages.ts";

/**
 * Forty attacks, and which tests show that each fails: file and words of a title. `open`: what is not held yet, as docs/security.md has it.
 */
const CASES = `
S01: access tokens without a signature
  test/auth/tokens/access-tokens.test.ts: %s is refused
S02: the public key as the secret of another algorithm
  test/auth/tokens/access-tokens.test.ts: %s is refused
S03: wrong issuer, audience, type or time
  test/auth/tokens/access-tokens.test.ts: are good until their last second
S04: keys named by the token's own header
  test/auth/tokens/access-tokens.test.ts: http://127.0.0.1:9/keys
S05: tokens after a revocation
  test/auth/contract/revocation.test.ts: a revocation takes effect on every gateway in time
  test/auth/contract/withdrawn-access.test.ts: a revoked token's descendants end with it
  test/auth/contract/withdrawn-access.test.ts: a user who was deleted issues nothing in the seconds after
S06: a copy of the database's credentials
  test/auth/contract/login-and-tokens.test.ts: are kept as hash and prefix only
  test/auth/contract/users.test.ts: the password is kept as argon2id only
  test/config/contract/secrets.test.ts: a secret is written, listed and replaced without its value ever coming back, and lies encrypted
S07: each operation as each role
  test/gateway/api/role-matrix.test.ts: each cell of the matrix over HTTP
S08: what belongs to another tenant
  test/gateway/contract/tenant-isolation.test.ts: resources of another tenant
  test/gateway/contract/tenant-isolation.test.ts: lists hold nothing of another tenant
S09: writing into another tenant
  test/gateway/contract/tenant-isolation.test.ts: writing into another tenant's scope
S10: tokens for others or with a higher role
  test/auth/tokens/token-rules.test.ts: no asker but an admin ever gets a token outside its reseller
S11: a bus action in another's name
  test/e2e/signed-bus.slow.test.ts: in the name of those whom auth has signed
  test/house/bus-rights.test.ts: who calls what
S12: operators where texts are expected
  test/auth/contract/login-and-tokens.test.ts: operators and other types in place of texts fail the contract
  test/gateway/api/routes.test.ts: no body and no query can ever say who asks
S13: names that databases and objects take for their own
  test/gateway/http/request-parsing.test.ts: constructor and the like are inert, wherever they stand
  test/shared/database/write-batches.test.ts: _bsontype
S14: fields that are not the client's to set
  test/gateway/api/every-route.test.ts: every row with a body
S15: bodies too large, too deep, compressed or no text
  test/gateway/http/request-parsing.test.ts: a body without a length that grows past the limit is cut off with 413
  test/gateway/http/request-parsing.test.ts: a name that an object has twice is refused with its path, in bulk for its row alone
S16: requests that never end
  test/gateway/http/request-limits.test.ts: a client that never ends its headers is disconnected
  test/conversation/transport/media-server.test.ts: %s is not waited for: the connection is closed
S17: numbers in odd spellings
  test/shared/phone.test.ts: any text is answered, and an answer is always plain E.164
S18: a listed number in another spelling
  test/shared/phone.test.ts: separators never change the number
  test/gateway/contract/push-to-abort.test.ts: a listed number: 403
S19: patterns that backtrack for ever
  test/config/rules/payload-validation.test.ts: a pattern that would backtrack for ever is judged in linear time
  test/shared/schemas/client-schema.test.ts: a schema with very many faults ends in a fault
  test/shared/schemas/tenant-schemas.test.ts: that take long hold nobody else up, and end when their request's time is used up
  test/conversation/session/conversation-session.test.ts: are checked elsewhere; %s
  test/conversation/dialogue/template-issues.test.ts: no usable pattern takes long
S20: private addresses in every spelling
  test/shared/egress/egress-agent.test.ts: %s is refused before, by name, and when connecting
S21: a name that is public once and private the next time
  test/shared/egress/egress-agent.test.ts: that is public when asked for and private the next time leads nowhere private
S22: redirects to private addresses
  test/webhook/contract/deliveries.test.ts: redirects are not followed
  test/conversation/providers/web-request.test.ts: redirects are not followed
S23: other schemes, ports and line breaks in addresses
  test/shared/egress/egress-agent.test.ts: a control character, on a laptop too
  test/shared/egress/egress-agent.test.ts: port %i
S24: private addresses in pre-checks, functions and recordings
  test/dialer/outbound/pre-checks.test.ts: an address that walks up
  test/shared/egress/egress-request.test.ts: a private address is refused before anything is sent, whatever its spelling
  test/dialer/contract/recordings/carrier-recordings.test.ts: an address that is not the carrier's is never asked
S25: forged callbacks
  test/dialer/contract/carrier-callbacks.test.ts: nothing forged is stored: no signature, another token, a byte, a path, a query
  test/dialer/fixtures/carrier-suite/callback-tests.ts: nothing forged passes: no signature, another account's, a byte, a path, a query
S26: callbacks sent again, or at another call's address
  test/dialer/contract/carrier-callbacks.test.ts: fifty copies at once: all answered, one stored, one effect
  test/dialer/carriers/telnyx/callbacks.test.ts: an event at %s
S27: media sockets: no token, used tokens, floods
  test/conversation/contract/media-admission.test.ts: a token works once; the signature is checked over the path as asked
  test/conversation/transport/media-server.test.ts: a socket that floods is cut as one that broke off, what is behind it unread; its neighbour goes on
  test/conversation/transport/media-server.test.ts: %s ends its socket before it is read
  test/conversation/transport/media-server.test.ts: a token that is awaited is let in while strangers
S28: forged and old webhook events
  test/webhook/rules/signature-and-verdict.test.ts: the reference library accepts it, with either secret of a rotation
  test/webhook/contract/replay-and-rotation.test.ts: between two tries signs the second one too
S29: secrets, transcripts and numbers in the log
  test/e2e/sample-leads.slow.test.ts: the log holds no transcript, secret or full number
  test/conversation/contract/secret-masking.test.ts: leaves none of it in log and errors
S30: what errors give away
  test/gateway/http/http-errors.test.ts: an error that is no Failure reveals nothing, whatever is thrown
S31: guessing passwords
  test/auth/login/login-guard.test.ts: who guesses is held up at its address, twice as long each time, up to an hour; the owner elsewhere is not
  test/auth/contract/login-and-tokens.test.ts: a wrong password and an unknown e-mail get the same answer
S32: paths in recordings' ids
  test/gateway/contract/recording-download.test.ts: another tenant gets the answer of an unknown call; without a token nothing is served
  test/shared/storage/storage.suite.ts: %s is no key
S33: overrides that lift a protection
  test/gateway/contract/leads/playground-override.test.ts: user: nothing; the lead is queued without it, and the answer says so
  test/config/rules/effective-configuration.test.ts: no override whatever makes a faulty configuration or lifts what protects the callee
S34: calls that cost without bound
  test/shared/numbering/destination.test.ts: refuses premium, satellite and shared-cost numbers by default, in any spelling
  test/dialer/spend/spend-ceiling.test.ts: of many attempts at one instant at two dialers as many are placed as fit; the others wait with its reason
  test/dialer/spend/spend-legs.test.ts: reserves its worst case beside the call's; one that does not fit is refused and nothing is asked of the carrier
S35: a callee who instructs the model
  test/conversation/dialogue/function-calls.test.ts: a number that is none, or came from the model, is not called
  test/dialer/contract/placing-calls.test.ts: a call is transferred to no other country where those are off, and by a variable to listed numbers only
S36: lists and batches without bound
  test/gateway/contract/leads/abort-endpoint.test.ts: items past the first 1,000 have an error each, in order, and their leads stay
  test/shared/page.test.ts: a page ends where a message is full of what is shown
S37: a stranger on the bus
  test/e2e/signed-bus.slow.test.ts: nobody is let on the bus without a key
  test/shared/bus/bus-transporter.test.ts: an action is that of its place, whatever name it gives itself
  test/shared/bus/signed-callers.test.ts: \`by\` alone makes nobody an admin
S38: requests without bound
  test/shared/egress/network-names.test.ts: names whose servers never answer
  test/gateway/bulk/bulk-stream.test.ts: others are attended to between batches
  test/gateway/http/request-limits.test.ts: each answer counts down; past the limit 429 with Retry-After, for every token of the merchant; others are not affected
  test/gateway/http/request-limits.test.ts: who guesses tokens is not answered for long, and holds up nobody who shares the address
  test/auth/contract/revocation.test.ts: a token that was accepted before and is refused now
  test/webhook/hosts/tenant-ceilings.test.ts: the next slot that is free goes to another reseller's receiver
S39: smuggled requests
  test/gateway/http/parser-errors.test.ts: what is no request is answered with a problem, and the connection ends
S40: other packages than those looked at
  test/deploy/supply-chain.test.ts: this tree's packages are hashed, known and allowed
  test/deploy/supply-chain.test.ts: npm run supply:sbom names each package of production once, with hash and licence, and no tool
`;

/** An attack with the tests that show that it fails. */
interface Case {
  id: string;
  attack: string;
  shown: [string, string][];
  open: string | null;
}

const cases = CASES.trim()
  .split(/\n(?=S)/)
  .map((text): Case => {
    const [head = "", ...lines] = text.split("\n");
    const [id = "", attack = ""] = head.split(": ");
    const pairs = lines.map((line): [string, string] => {
      const at = line.indexOf(": ");
      return [line.slice(0, at).trim(), line.slice(at + 2)];
    });
    const isOpen = ([file]: [string, string]): boolean => file === "open";
    return { id, attack, shown: pairs.filter((pair) => !isOpen(pair)), open: pairs.find(isOpen)?.[1] ?? null };
  });

test("every attack is there once, in order", () => {
  expect(cases.map(({ id }) => id)).toEqual(Array.from({ length: 40 }, (_, n) => `S${String(n + 1).padStart(2, "0")}`));
});

test.each(cases.map((c) => [`${c.id}, ${c.attack}`, c] as const))(
  "%s: tests that exist show it",
  (_name, { shown }) => {
    const missing = shown.filter(
      ([file, title]) => !existsSync(join(ROOT, file)) || !readFileSync(join(ROOT, file), "utf8").includes(title),
    );
    expect([shown.length > 0, missing]).toEqual([true, []]);
  },
);

describe("docs/security.md", () => {
  const page = pageAt("docs/security.md");
  const rows = (heading: string): string[][] => {
    const [, section = ""] = page.split(`## ${heading}\n`);
    const lines = (section.split("\n## ")[0] ?? "").split("\n").filter((line) => line.startsWith("| "));
    return lines.slice(1).map((line) =>
      line
        .split("|")
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
  };

  test("says what is open, and nothing else", () => {
    expect(rows("What is open").filter(([id = ""]) => /^S\d\d$/.test(id))).toEqual(
      cases.flatMap(({ id, open }) => (open === null ? [] : [[id, open]])),
    );
  });

  test("says of every process whom it reaches and which secrets it holds, as docker-compose.yml has it", () => {
    const secret = Object.entries<Variable>(VARIABLES).flatMap(([name, v]) => (v.secret ? [name] : []));
    const held = (c: Container): string =>
      secret
        .filter((name) => variablesOf(c).includes(name))
        .map((name) => `\`${name}\``)
        .join(", ");
    const expected = Object.entries(readCompose().services)
      .filter(([, c]) => c.command[0]?.startsWith("services/"))
      .map(([name, c]) => [name, c.networks.includes("outside") ? "yes" : "no", c.ports ? "yes" : "no", held(c)]);
    expect(rows("What each process may do")).toEqual(expected);
  });

  test("names the variables that an operator must set for signatures, the bus and proxies", () => {
    for (const name of [
      "PUBLIC_HTTP_URL",
      "PUBLIC_WS_URL",
      "TRUST_PROXY",
      "BUS_TRUST",
      "JWT_PRIVATE_KEY",
      "MONGODB_URI",
    ])
      expect(page).toContain(`\`${name}\``);
  });
});
