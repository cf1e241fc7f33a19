type Fillers = readonly [string, ...string[]];

const ENGLISH: Fillers = ["One moment, please.", "Let me see."];
const FILLERS: Readonly<Record<string, Fillers>> = {
  de: ["Einen Moment, bitte.", "Ich schaue kurz nach."],
  fr: ["Un instant, s'il vous plaît.", "Je regarde."],
  es: ["Un momento, por favor.", "Déjeme ver."],
  it: ["Un momento, per favore.", "Controllo subito."],
  pt: ["Um momento, por favor.", "Deixe-me ver."],
  nl: ["Een ogenblik, alstublieft.", "Ik kijk even."],
  hi: ["एक क्षण, कृपया।", "मैं अभी देखती हूँ।"],
};

/** Filler sentences for late answers in a BCP 47 language, used in rotation; English for unknown languages. */
export const fillers = (language: string): Fillers => FILLERS[language.toLowerCase().split(/[-_]/)[0] ?? ""] ?? ENGLISH;
