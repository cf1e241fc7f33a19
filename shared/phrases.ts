/** Fixed sentences of the service itself, for the moments when no model is asked. */
export interface Phrases {
  /** The answer is late: used in rotation. */
  readonly fillers: readonly string[];
  /** The customer is silent: a reprompt. */
  readonly still_there: string;
  /** The customer stays silent after the reprompts. */
  readonly idle_goodbye: string;
  /** The conversation has reached its maximum length. */
  readonly time_up: string;
  /** The model produced no usable output. */
  readonly say_again: string;
  /** An error ends the conversation. */
  readonly trouble: string;
  /** They asked not to be called again; the call ends. */
  readonly do_not_call: string;
  readonly goodbye: string;
}

const PHRASES: Readonly<Record<string, Phrases>> = {
  en: {
    fillers: ["One moment, please.", "Let me see."],
    still_there: "Are you still there?",
    idle_goodbye: "I can't hear you, so I will end the call now. Goodbye!",
    time_up: "I am sorry, I have to end the call now. Goodbye!",
    say_again: "I am sorry, could you say that again, please?",
    trouble: "I am sorry, something went wrong on our side. Goodbye!",
    do_not_call: "You will not be called again. Goodbye!",
    goodbye: "Thank you. Goodbye!",
  },
  de: {
    fillers: ["Einen Moment, bitte.", "Ich schaue kurz nach."],
    still_there: "Sind Sie noch da?",
    idle_goodbye: "Ich kann Sie nicht hören und beende jetzt das Gespräch. Auf Wiederhören!",
    time_up: "Ich muss das Gespräch jetzt leider beenden. Auf Wiederhören!",
    say_again: "Entschuldigung, könnten Sie das bitte wiederholen?",
    trouble: "Entschuldigung, bei uns ist etwas schiefgegangen. Auf Wiederhören!",
    do_not_call: "Sie werden nicht mehr angerufen. Auf Wiederhören!",
    goodbye: "Vielen Dank. Auf Wiederhören!",
  },
  fr: {
    fillers: ["Un instant, s'il vous plaît.", "Je regarde."],
    still_there: "Êtes-vous toujours là ?",
    idle_goodbye: "Je ne vous entends pas, je vais donc mettre fin à l'appel. Au revoir !",
    time_up: "Je suis désolé, je dois mettre fin à l'appel. Au revoir !",
    say_again: "Excusez-moi, pourriez-vous répéter, s'il vous plaît ?",
    trouble: "Je suis désolé, un problème est survenu de notre côté. Au revoir !",
    do_not_call: "Nous ne vous appellerons plus. Au revoir !",
    goodbye: "Merci. Au revoir !",
  },
  es: {
    fillers: ["Un momento, por favor.", "Déjeme ver."],
    still_there: "¿Sigue ahí?",
    idle_goodbye: "No le oigo, así que voy a terminar la llamada. ¡Adiós!",
    time_up: "Lo siento, tengo que terminar la llamada. ¡Adiós!",
    say_again: "Disculpe, ¿podría repetirlo, por favor?",
    trouble: "Lo siento, algo ha fallado por nuestra parte. ¡Adiós!",
    do_not_call: "No le llamaremos más. ¡Adiós!",
    goodbye: "Gracias. ¡Adiós!",
  },
  it: {
    fillers: ["Un momento, per favore.", "Controllo subito."],
    still_there: "È ancora in linea?",
    idle_goodbye: "Non la sento, quindi termino la chiamata. Arrivederci!",
    time_up: "Mi dispiace, devo terminare la chiamata. Arrivederci!",
    say_again: "Mi scusi, può ripetere, per favore?",
    trouble: "Mi dispiace, c'è stato un problema da parte nostra. Arrivederci!",
    do_not_call: "Non la chiameremo più. Arrivederci!",
    goodbye: "Grazie. Arrivederci!",
  },
  pt: {
    fillers: ["Um momento, por favor.", "Deixe-me ver."],
    still_there: "Ainda está aí?",
    idle_goodbye: "Não consigo ouvir você, então vou encerrar a ligação. Até logo!",
    time_up: "Desculpe, preciso encerrar a ligação agora. Até logo!",
    say_again: "Desculpe, poderia repetir, por favor?",
    trouble: "Desculpe, algo deu errado do nosso lado. Até logo!",
    do_not_call: "Não ligaremos mais para você. Até logo!",
    goodbye: "Obrigado. Até logo!",
  },
  nl: {
    fillers: ["Een ogenblik, alstublieft.", "Ik kijk even."],
    still_there: "Bent u er nog?",
    idle_goodbye: "Ik kan u niet horen en beëindig nu het gesprek. Tot ziens!",
    time_up: "Het spijt me, ik moet het gesprek nu beëindigen. Tot ziens!",
    say_again: "Sorry, kunt u dat herhalen, alstublieft?",
    trouble: "Het spijt me, er ging iets mis aan onze kant. Tot ziens!",
    do_not_call: "U wordt niet meer gebeld. Tot ziens!",
    goodbye: "Dank u wel. Tot ziens!",
  },
  hi: {
    fillers: ["एक क्षण, कृपया।", "मैं अभी देखती हूँ।"],
    still_there: "क्या आप लाइन पर हैं?",
    idle_goodbye: "मुझे आपकी आवाज़ नहीं आ रही है, इसलिए मैं कॉल समाप्त कर रही हूँ। नमस्ते!",
    time_up: "क्षमा कीजिए, मुझे अब कॉल समाप्त करनी होगी। नमस्ते!",
    say_again: "क्षमा कीजिए, क्या आप दोबारा कह सकते हैं?",
    trouble: "क्षमा कीजिए, हमारी ओर से कुछ गड़बड़ हो गई। नमस्ते!",
    do_not_call: "आपको फिर कॉल नहीं की जाएगी। नमस्ते!",
    goodbye: "धन्यवाद। नमस्ते!",
  },
};

const ENGLISH = PHRASES["en"] as Phrases;

/** The languages that have sentences of their own. */
export const PHRASE_LANGUAGES: readonly string[] = Object.keys(PHRASES);

/** The query field of a callback's address that names the conversation's language: the dialer writes it, the gateway reads it. */
export const LANGUAGE_FIELD = "lang";

/** A BCP 47 language without its region, as speech models name it. */
export const languageOf = (bcp47: string): string => bcp47.toLowerCase().split(/[-_]/)[0] ?? "";

/** The sentences in a BCP 47 language; English where there are none. */
export const phrasesFor = (language: string): Phrases => PHRASES[languageOf(language)] ?? ENGLISH;
