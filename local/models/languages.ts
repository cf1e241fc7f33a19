import { languageOf } from "../../shared/phrases.ts";

/** Languages that the simulated model understands. */
const SIMULATED_LANGUAGES: readonly string[] = ["en"];

/** What a person should know before they wonder at the simulated model's answers; null: it understands the language of their template. */
export const simulatedNotice = (template: string, language: string): string | null =>
  SIMULATED_LANGUAGES.includes(languageOf(language))
    ? null
    : `${template} speaks ${language}, and the simulated model understands English alone: it will not follow what is said, only keys that are pressed. Ask a model of your own (--real).`;
