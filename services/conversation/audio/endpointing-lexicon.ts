/** Words that indicate whether a speaker continues. All in lower case; entries of several words are written with _. */
export interface EndpointingLexicon {
  /** Never the end of a turn: conjunctions, articles, possessives, introductions of a name or a number. */
  readonly open: ReadonlySet<string>;
  /** Seldom the end of a turn: prepositions, auxiliaries. */
  readonly loose: ReadonlySet<string>;
  /** Hesitation sounds. */
  readonly fillers: ReadonlySet<string>;
  /** Whole answers. */
  readonly answers: ReadonlySet<string>;
  /** Digits and numbers in words. */
  readonly numbers: ReadonlySet<string>;
  /** Backchannels: "I am listening", said while the other side speaks. */
  readonly backchannels: ReadonlySet<string>;
}

type Lists = Record<keyof EndpointingLexicon, string>;

const setOf = (list: string): ReadonlySet<string> =>
  new Set(
    list
      .normalize("NFC")
      .split(/\s+/)
      .filter((w) => w !== "")
      .map((w) => w.replace(/[_-]/g, " ")),
  );
const lists = <T>(of: (name: keyof Lists) => T): Record<keyof Lists, T> => ({
  open: of("open"),
  loose: of("loose"),
  fillers: of("fillers"),
  answers: of("answers"),
  numbers: of("numbers"),
  backchannels: of("backchannels"),
});

const ENGLISH: Lists = {
  open: `
    and or but because cause if unless although though while whereas until since the a an my your our their his every i'm we're they're i'd i'll i've we've we'd we'll
    gonna wanna very number_is name_is address_is mail_is code_is date_is birthday_is it_is_for because_of such_as as_well_as i_am_a let_me_see let_me_think hold_on
    one_moment one_second wait`,
  loose: `
    so that which who when where to for with from of in on at by about into than then as is are was were it's that's there's can could would should will do does not also
    maybe like between`,
  fillers: "um umm uhm uh er erm ehm hmm you_know i_mean",
  answers: `
    yes yeah yep yup no nope nah sure okay ok correct right exactly absolutely definitely please thanks thank_you bye goodbye hello hi nothing never always maybe stop
    cancel yes_please no_thanks no_thank_you that's_it that's_all that's_right that's_correct of_course not_really not_yet i_do i_don't i_am i'm_not it_is it_isn't
    speaking`,
  numbers: `
    zero oh one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty
    seventy eighty ninety hundred thousand double triple`,
  backchannels: `
    uh_huh huh ok okay k right alright all_right i_see yeah yep yes yup sure got_it gotcha cool great good fine nice aha ah oh oh_okay really exactly true of_course
    makes_sense understood`,
};

const HINDI: Lists = {
  open: `
    और या लेकिन मगर क्योंकि कि अगर जब तो_फिर इसलिए मेरा मेरी मेरे आपका आपकी हमारा नंबर_है नाम_है पता_है रुकिए एक_मिनट aur ya lekin magar kyunki kyonki ki agar jab isliye
    mera meri mere aapka aapki hamara number_hai naam_hai pata_hai rukiye ek_minute`,
  loose: "का के की को से में पर तक तो भी ने ka ke ko se mein par tak to bhi ne",
  fillers: "मतलब अम अं उम matlab um aam woh वो",
  answers: `
    हाँ हां जी नहीं ना ठीक ठीक_है सही बिल्कुल अच्छा धन्यवाद नमस्ते हाँ_जी जी_हाँ जी_हां जी_नहीं haan han ji nahi nahin naa theek theek_hai thik_hai sahi bilkul accha acha
    dhanyavaad shukriya namaste haan_ji ji_haan ji_nahi bol_raha_hoon bol_rahi_hoon`,
  numbers:
    "शून्य एक दो तीन चार पांच पाँच छह छः सात आठ नौ दस shunya ek do teen char chaar paanch panch chhah che saat aath nau das",
  backchannels: `
    हाँ हां जी अच्छा ठीक ठीक_है सही हम्म हाँ_जी जी_हाँ बिल्कुल समझ_गया समझ_गई haan han ji accha acha achha theek theek_hai thik_hai sahi haan_ji ji_haan bilkul
    samajh_gaya samajh_gayi`,
};

const LISTS: Record<string, Lists> = {
  en: ENGLISH,
  de: {
    open: `
      und oder aber weil dass ob wenn obwohl sondern sodass bevor nachdem während des mein meine meinen meiner meinem unser unsere nummer_ist nummer_lautet name_ist
      adresse_ist adresse_lautet lautet ich_heiße das_heißt zum_beispiel moment einen_moment sekunde`,
    loose: `
      also dann mit für von zu zum zur bei in im an am auf aus nach über unter um als wie ist sind war bin habe hat kann will möchte würde nicht auch noch vielleicht so bis
      das die der den dem ein eine einen einem einer denn damit ihr ihre ich_möchte ich_würde`,
    fillers: "äh ähm öhm öh hm tja naja na_ja sozusagen",
    answers: `
      ja nein nee doch genau richtig klar gerne okay ok sicher natürlich stimmt bitte danke tschüss hallo nie vielleicht stopp abbrechen ja_bitte ja_genau nein_danke
      das_war's das_ist_alles das_stimmt auf_jeden_fall noch_nicht guten_tag am_apparat`,
    numbers: `
      null eins ein zwei zwo drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn siebzehn achtzehn neunzehn zwanzig dreißig vierzig
      fünfzig sechzig siebzig achtzig neunzig hundert tausend`,
    backchannels: `
      ja jaja genau okay ok gut alles_klar klar verstehe ich_verstehe ach_so achso aha ach ah stimmt richtig schön super prima na_gut natürlich jawohl jep sicher`,
  },
  fr: {
    open: `
      et ou mais parce_que puisque que qu' quand lorsque comme donc car le la les l' des du mon ma mes ton ta tes son sa ses notre votre leur très numéro_est c'est_le
      nom_est adresse_est je_m'appelle un_instant une_seconde attendez par_exemple`,
    loose:
      "alors de d' à au aux en dans sur avec pour par chez sans est sont c'est suis ai a pas aussi peut-être qui où ne un une si je_voudrais",
    fillers: "euh heu hum ben bah tu_vois vous_voyez",
    answers: `
      oui non si ouais exactement voilà d'accord bien_sûr merci s'il_vous_plaît bonjour allô au_revoir jamais peut-être oui_merci non_merci c'est_ça c'est_tout c'est_bon
      tout_à_fait pas_encore c'est_moi c'est_exact`,
    numbers:
      "zéro un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize vingt trente quarante cinquante soixante cent mille",
    backchannels: `
      oui ouais d'accord ok okay bien_sûr c'est_ça voilà je_vois je_comprends très_bien bien ah ah_bon ah_oui exact exactement tout_à_fait entendu super parfait bon`,
  },
  es: {
    open: `
      y e o u pero porque que cuando aunque sino mientras como el la los las mi mis tu tus su sus nuestro nuestra muy número_es nombre_es dirección_es me_llamo un_momento
      un_segundo espera espere por_ejemplo`,
    loose: `
      pues entonces de del a al en con por para sin sobre desde hasta es son está soy estoy no también quizás quien donde un una unos unas si quisiera quiero este`,
    fillers: "eh em mmm o_sea a_ver",
    answers: `
      sí si no claro correcto exacto vale gracias por_favor hola adiós nunca quizás bueno dígame diga sí_por_favor no_gracias eso_es eso_es_todo por_supuesto todavía_no
      está_bien de_acuerdo así_es`,
    numbers: `
      cero uno dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince dieciséis diecisiete dieciocho diecinueve veinte treinta cuarenta cincuenta
      sesenta setenta ochenta noventa cien ciento mil`,
    backchannels:
      "sí si claro vale ok okay ya entiendo ya_veo de_acuerdo exacto bien muy_bien ajá aja eso_es por_supuesto ah bueno perfecto está_bien así_es",
  },
  it: {
    open: `
      e ed o oppure ma però perché che quando anche_se mentre siccome il lo la i gli le l' un' mio mia miei tuo suo sua nostro vostro numero_è nome_è indirizzo_è mi_chiamo
      un_attimo un_momento aspetti per_esempio`,
    loose:
      "quindi allora poi di del della a al alla da dal in nel nella con su per tra fra è sono ho ha non anche forse come chi dove uno una un se vorrei",
    fillers: "ehm eh em cioè diciamo",
    answers:
      "sì si no certo esatto giusto va_bene ok okay grazie prego ciao pronto arrivederci mai forse sì_grazie no_grazie è_tutto d'accordo non_ancora sono_io",
    numbers: `
      zero uno due tre quattro cinque sei sette otto nove dieci undici dodici tredici quattordici quindici sedici diciassette diciotto diciannove venti trenta quaranta
      cinquanta sessanta settanta ottanta novanta cento mille`,
    backchannels:
      "sì si certo ok okay va_bene capisco ho_capito esatto giusto d'accordo bene ah ah_sì ecco chiaro perfetto già",
  },
  pt: {
    open: `
      e ou mas porque que se quando embora enquanto pois o a os as meu minha meus minhas seu sua nosso nossa número_é nome_é endereço_é me_chamo um_momento um_segundo
      espera espere por_exemplo`,
    loose:
      "então de do da em no na com por para sem sobre até é são está sou estou não também talvez quem onde ao à um uma uns umas gostaria queria",
    fillers: "é_é hum ahn hã tipo bem_assim é_assim sei_lá",
    answers: `
      sim não claro certo exato isso tá ok okay obrigado obrigada olá oi alô tchau nunca talvez sim_por_favor não_obrigado não_obrigada é_isso é_só_isso está_bem tudo_bem
      com_certeza ainda_não sou_eu pode pode_ser`,
    numbers: `
      zero um uma dois duas três quatro cinco seis meia sete oito nove dez onze doze treze quatorze catorze quinze dezesseis dezessete dezoito dezenove vinte trinta
      quarenta cinquenta sessenta setenta oitenta noventa cem cento mil`,
    backchannels:
      "sim claro certo ok okay tá tá_bom entendi entendo isso exato com_certeza está_bem tudo_bem aham ahã ah pois_é pois perfeito beleza",
  },
  nl: {
    open: `
      en of maar want omdat als hoewel terwijl zodat voordat de mijn jouw uw ons onze hun heel nummer_is naam_is adres_is ik_heet moment een_moment momentje bijvoorbeeld`,
    loose: `
      dus dan met voor van naar bij in op aan uit over onder om te tot is zijn was ben heb heeft kan wil niet ook misschien zo die het een dat ik_wil_graag ik_zou`,
    fillers: "eh uh ehm uhm hm nou tja zeg_maar",
    answers: `
      ja nee jawel precies klopt juist goed graag oké ok zeker natuurlijk bedankt dank_u hallo dag doei nooit misschien stop ja_graag nee_bedankt dat_is_alles dat_klopt
      nog_niet daar_spreekt_u_mee`,
    numbers: `
      nul een één twee drie vier vijf zes zeven acht negen tien elf twaalf dertien veertien vijftien zestien zeventien achttien negentien twintig dertig veertig vijftig
      zestig zeventig tachtig negentig honderd duizend`,
    backchannels:
      "ja jaja oké ok goed precies klopt juist ik_snap_het snap_ik begrijp_ik aha ah ach_zo mooi prima natuurlijk zeker inderdaad",
  },
};

const NONE: EndpointingLexicon = lists(() => new Set());
/** Speakers of Hindi mix it with English on the telephone. */
const HINGLISH = lists((name) => `${ENGLISH[name]} ${HINDI[name]}`);
const KNOWN = new Map<string, EndpointingLexicon>(
  Object.entries({ ...LISTS, hi: HINGLISH }).map(([language, of]) => [language, lists((name) => setOf(of[name]))]),
);

/** The words of a language (BCP 47); none where it is not known: marks and pauses decide alone then. */
export const lexiconFor = (language: string): EndpointingLexicon =>
  KNOWN.get(language.split("-")[0]?.toLowerCase() ?? "") ?? NONE;
