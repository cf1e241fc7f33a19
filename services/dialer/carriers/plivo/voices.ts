/** A voice of Plivo's Speak element and the language it speaks. */
export interface SpeechVoice {
  voice: string;
  language: string;
}

/** Languages of Plivo's own voices (https://www.plivo.com/docs/voice/xml/audio-output); one per language is enough, the template may name the other. */
const OWN_VOICES: Record<string, string> = {
  "da-DK": "WOMAN",
  "nl-NL": "WOMAN",
  "en-AU": "WOMAN",
  "en-GB": "WOMAN",
  "en-US": "WOMAN",
  "fr-FR": "WOMAN",
  "fr-CA": "WOMAN",
  "de-DE": "WOMAN",
  "it-IT": "WOMAN",
  "pl-PL": "WOMAN",
  "pt-PT": "MAN",
  "pt-BR": "WOMAN",
  "ru-RU": "WOMAN",
  "es-ES": "WOMAN",
  "es-US": "WOMAN",
  "sv-SE": "WOMAN",
};
/** Amazon's voices for the languages Plivo's own do not speak. */
const POLLY_VOICES: Record<string, string> = {
  arb: "Polly.Zeina",
  "cmn-CN": "Polly.Zhiyu",
  "cy-GB": "Polly.Gwyneth",
  "en-IN": "Polly.Aditi",
  "es-MX": "Polly.Mia",
  "hi-IN": "Polly.Aditi",
  "is-IS": "Polly.Dora",
  "ja-JP": "Polly.Mizuki",
  "ko-KR": "Polly.Seoyeon",
  "nb-NO": "Polly.Liv",
  "ro-RO": "Polly.Carmen",
  "tr-TR": "Polly.Filiz",
};
const VOICES: Record<string, string> = { ...OWN_VOICES, ...POLLY_VOICES };
/** Other names of those languages. */
const ALIASES: Record<string, string> = {
  ar: "arb",
  zh: "cmn-CN",
  "zh-cn": "cmn-CN",
  no: "nb-NO",
  "es-mx": "es-MX",
  en: "en-US",
  pt: "pt-BR",
  es: "es-ES",
  fr: "fr-FR",
};
const DEFAULT_LANGUAGE = "en-US";

const VOICE = /^(?:WOMAN|MAN|Polly\.[A-Za-z]{2,30})$/;
const LANGUAGE = /^[A-Za-z]{2,3}(?:-[A-Za-z0-9]{2,8}){0,3}$/;

/** The language Plivo can speak that comes nearest: the same, the same in another country, or English. */
function spokenLanguage(language: string): string {
  const wanted = language.toLowerCase();
  const primary = wanted.split("-")[0] ?? "";
  const known = Object.keys(VOICES);
  return (
    known.find((name) => name.toLowerCase() === wanted) ??
    ALIASES[wanted] ??
    ALIASES[primary] ??
    known.find((name) => name.toLowerCase().split("-")[0] === primary) ??
    DEFAULT_LANGUAGE
  );
}

/** How a text is spoken. A voice that is not of Plivo's naming is another carrier's: the language's own takes its place. */
export function speechVoice(language: string, voice: string | null): SpeechVoice {
  const spoken = spokenLanguage(language);
  if (voice === null || !VOICE.test(voice)) return { voice: VOICES[spoken] ?? "WOMAN", language: spoken };
  return !voice.startsWith("Polly.") && OWN_VOICES[spoken] === undefined
    ? { voice: VOICES[spoken] ?? voice, language: spoken }
    : { voice, language: spoken };
}

/** The language speech is recognised in; recognition knows more of them than the voices do. */
export const recognitionLanguage = (language: string): string =>
  LANGUAGE.test(language) ? language : DEFAULT_LANGUAGE;
