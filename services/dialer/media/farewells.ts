import type { Farewell } from "../../../shared/contracts/dialer.ts";
import { PROVIDERS } from "../../../shared/contracts/records/configuration.ts";
import { PHRASE_LANGUAGES, phrasesFor } from "../../../shared/phrases.ts";
import { CALLBACK_KINDS } from "../carriers/carrier-port.ts";
import type { Carriers } from "../carriers/carrier-registry.ts";

/** The documents that end a call politely, for every provider with an account and each kind of callback that asks for a document. */
export const farewells = (carriers: Pick<Carriers, "find">): Farewell[] =>
  PROVIDERS.flatMap((provider) =>
    CALLBACK_KINDS.flatMap((kind) =>
      PHRASE_LANGUAGES.flatMap((language) => {
        const sentence = phrasesFor(language).trouble;
        const document = carriers.find(provider)?.farewellDocument(kind, { sentence, language }) ?? null;
        return document === null ? [] : [{ provider, kind, language, ...document }];
      }),
    ),
  );
