/** What people say on the phone, grouped by what they want. Patterns run on one normalised clause (english.ts). */

/** What a person may want from a call. */
export type Concept =
  | "confirm"
  | "move"
  | "cancel"
  | "wrong_person"
  | "voicemail"
  | "human"
  | "goodbye"
  | "call_back"
  | "opt_out";

/** How strongly something speaks for (positive) or against (negative) a concept. */
export type Weight = Readonly<{ concept: Concept; weight: number }>;

/** A phrase, what it says, and what it says with a "not" in front of it. */
export type Phrase = Readonly<{ pattern: RegExp; says: readonly Weight[]; denied: readonly Weight[] }>;

const yes = (weight: number): Weight => ({ concept: "confirm", weight });
const move = (weight: number): Weight => ({ concept: "move", weight });
const cancel = (weight: number): Weight => ({ concept: "cancel", weight });
const only = (concept: Concept, weight: number): readonly Weight[] => [{ concept, weight }];

/** Said of a proposed day or order: good if affirmed, a wish for another day if denied. */
const SUITS: Phrase = {
  pattern:
    /\b(suits?|works?|fits?|convenient|possible|(that|this|it|which|day|date|time|then|all|sounds?|looks?|is|am|be|would be|are) (still |just |absolutely |totally |all |very |perfectly )?(fine|good|ok|okay|great|perfect|lovely|alright|set|wonderful|excellent))\b/,
  says: [yes(2)],
  denied: [yes(-4), move(2)],
};

/** Explicit wishes. Several may match one clause; their weights add up. */
export const PHRASES: readonly Phrase[] = [
  SUITS,
  {
    pattern:
      /\b(confirm(s|ed|ing|ation)?|accept(ed)?|approved?|go (right )?ahead|(keep|leave) (it|that|the|my|everything)|agreed?|count me in)\b/,
    says: [yes(3)],
    denied: [yes(-4), cancel(2)],
  },
  {
    pattern:
      /\b(absolutely|definitely|certainly|of course|by all means|please do|yes please|sure thing|sounds (good|great|perfect|fine|lovely)|looking forward|as planned|as agreed)\b/,
    says: [yes(2)],
    denied: [yes(-4)],
  },
  {
    pattern: /\b((that|this|it|you|which) (is|are) (all |quite |absolutely )?(right|correct)|correct)\b/,
    says: [yes(2)],
    denied: [yes(-4)],
  },
  {
    pattern:
      /\b(i|we|someone|somebody|my \w+) (will|shall|am going to|are going to) (definitely |certainly |surely )?(be|come|take it|have it)\b|\b(see you (there|then|on|at)|send it|bring it|deliver it)\b/,
    says: [yes(2)],
    denied: [yes(-4), move(1.5)],
  },

  {
    pattern:
      /\b(reschedul\w*|postpon\w*|rebook\w*|rearrang\w*|push (it|that|the \w+) (back|out)|put (it|that) off|delay (it|that|the)|move (it|that|this|the|my|to|our)|moved to)\b/,
    says: [move(3)],
    denied: [move(-5), yes(1.5)],
  },
  {
    pattern:
      /\b(another|(a )?different|some other|any other|(a )?new|(a )?later|(an )?earlier|a better) (day|date|time|slot|week|appointment|moment|morning|afternoon)\b/,
    says: [move(3)],
    denied: [move(-5)],
  },
  {
    pattern:
      /\b(change|switch|swap|shift) (it|that|this|the|my|to|for|our)?\s?(day|date|time|slot|delivery|appointment)?/,
    says: [move(2)],
    denied: [move(-5), yes(1.5)],
  },
  {
    pattern:
      /\b(instead|(next|the following) week|later in the week|some ?time else|(bad|wrong) (day|date)|too (early|soon)|(come|deliver|do it|have it|get it|bring it) (a bit |a little )?(later|earlier|sooner))\b/,
    says: [move(2)],
    denied: [],
  },
  {
    pattern:
      /\b((am|are|be|will be|is) (away|travell?ing|abroad|out|on holiday|on vacation|at work|in hospital|out of (town|the country))|have to work|got to work|something (has )?(came|come) up|busy (on|that|then|all)|clash(es)?|(have|got) (another|something else)|(can|could|do|will|would) not (really |quite |possibly |be able to )?(come|make|attend|be|do|have|take|receive)|(unable|not able) to)\b/,
    says: [move(2), yes(-3)],
    denied: [],
  },
  {
    pattern:
      /\b(not on|not|never) (a |next |this )?(monday|tuesday|wednesday|thursday|friday|saturday|sunday|tomorrow|that (day|date))\b|\bnot (be )?(home|in|around|there|available|free)\b/,
    says: [move(2), yes(-3)],
    denied: [],
  },

  {
    pattern:
      /\b(cancel\w*|declin\w*|refus\w*|reject\w*|call (it|that|this|the whole thing) off|scrap (it|the|that)|void|forget (it|about it|the (order|appointment)|about the))\b/,
    says: [cancel(4), yes(-4)],
    denied: [cancel(-6), yes(1.5)],
  },
  {
    pattern:
      /\b(not interested|changed my mind|send it back|return it|bought (it|one|another|that) (elsewhere|somewhere|in)|(got|found|have) (it|one) (elsewhere|somewhere else|cheaper)|no thank(s| you))\b/,
    says: [cancel(3), yes(-4)],
    denied: [cancel(-4)],
  },
  {
    pattern:
      /\b((do|did|does|would) not|no longer|never) (really |actually |even )?((want|need|order\w*|ask\w* for|like) (it|this|that|the|them|anything|any|my|your|to (buy|go|come|order|have it))|want|need|order(ed)?)\b(?! to (cancel|move|resch|change))/,
    says: [cancel(3), yes(-4)],
    denied: [],
  },
  {
    pattern:
      /\b(will|am|are|would) not (be )?(coming|come|attend|attending|going|buying|paying|showing up|confirming)\b/,
    says: [cancel(2.5), move(-1), yes(-4)],
    denied: [],
  },

  {
    pattern:
      /\bwrong (number|person|guy|man|woman)|\b(no ?one|nobody|no \w+) (here )?(by|of|with|called|named|at)\b|\b(am|is|are) not (him|her|me|that person|the (person|one)|mr|mrs|ms)\b|\bthere is no \w+( \w+)? (here|at this|living)|\bnever heard of (him|her|them|that person)|\b(do|does) not (know (any|him|her|anyone|that person|this person|a )|live here)|\bnot the right (person|number)\b/,
    says: [{ concept: "wrong_person", weight: 5 }, yes(-4)],
    denied: [],
  },
  {
    pattern:
      /\b((speak|talk|connect me|put me|transfer me|pass me) (\w+ )?(with|to|through|on to) (a |an |some |your |the )?(real |actual |live )?(human|person|agent|someone|somebody|operator|representative|manager|supervisor|colleague)|(real|actual|live) (human|person|agent)|a human|(operator|representative))\b/,
    says: only("human", 4),
    denied: [],
  },
  {
    pattern:
      /\b(good ?bye|bye|bye bye|hang(ing)? up|have a (nice|good|great) (day|one|evening)|talk (to you )?later|see you later)\b/,
    says: only("goodbye", 1.5),
    denied: [],
  },
  {
    pattern: /\b(call|ring|phone|try) (me )?(back|later|again|another time|some other time|tomorrow)\b/,
    says: [{ concept: "call_back", weight: 3 }, move(-3)],
    denied: [],
  },
  {
    pattern:
      /\b(stop (calling|ringing|phoning)|(do not|never) (ever )?(call|ring|phone) (me|here|again|this)|take me off|remove me|unsubscribe|leave me alone)\b/,
    says: [{ concept: "opt_out", weight: 3 }, yes(-4)],
    denied: [],
  },
];

/** Words in a tool's name or description that say which concept it serves. */
export const TOOL_CONCEPTS: readonly (readonly [Concept, RegExp])[] = [
  ["confirm", /\b(confirm\w*|accept\w*|approv\w*|agree\w*|keep|yes)\b/],
  [
    "move",
    /\b(reschedul\w*|postpon\w*|rebook\w*|mov(e|es|ing)|(another|different|new|other) (delivery |appointment )?(day|date|time|slot)|change (the )?(day|date|time|delivery|appointment))\b/,
  ],
  ["cancel", /\b(cancel\w*|declin\w*|refus\w*|reject\w*|not interested)\b/],
  ["wrong_person", /\b(wrong (number|person)|not the customer|someone else|misdial\w*)\b/],
  ["voicemail", /\b(voice ?mail|mailbox|answering machine)\b/],
  ["human", /\b(human|transfer|agent|operator|representative|real person|colleague|escalat\w*)\b/],
  ["goodbye", /\b(goodbye|bye|end call|hang up|end the call|finish)\b/],
  ["call_back", /\b(call ?back|call (me |them )?(back|later)|callback)\b/],
  ["opt_out", /\b(opt ?out|do not call|stop calling|unsubscribe|blacklist)\b/],
];

/** Idioms with a "no" or "not" in them that deny nothing. */
export const FALSE_NEGATIONS =
  /\b(no problem( at all)?|no worries|not a problem|why not|no doubt|can not wait|(do )?not mind|no objections?|no trouble)\b/g;

/** A whole clause that is but a yes or a no. */
export const BARE_YES =
  /^(oh |ah |um |uh |er |well )*(yes+|yeah|yep|yup|aye|sure|ok|okay|alright|all right|right|exactly|indeed|fine|perfect|good|great|lovely|wonderful|excellent|very (good|well)|uh huh|mm ?hmm|i (think|guess|suppose|believe) so|i do|it is|that is it|true)( (yes|yeah|sure|ok|okay|please|then|thanks|thank you|sir|madam|ma am|indeed|it is|i do|that is it|exactly|right))*$/;
export const BARE_NO =
  /^(oh |ah |um |uh |er |well )*(no+|nope|nah|no way|never|negative|i do not|it is not|i am afraid not|rather not|not really|unfortunately not)( (no|sorry|i do not|it is not|not really|thanks|sir|madam|ma am))*$/;

/** Moods that are not a decision. */
export const IMPATIENT =
  /\b(no time|not have (the |any |much )?time|(be|make it|keep it) (quick|short|brief)|hurry|get to the point|stop (calling|ringing)|leave me alone|not now|right now|in a (hurry|rush|meeting)|middle of (something|a)|(too|very|really|so|am|kind of) busy|bad time|not a good time|waste of|wasting my|what do you want|driving|ridiculous|again with)\b/;
export const SMALL_TALK =
  /\b(how (are|is|have) (you|it|your|things|life)|how do you do|nice (to|weather|day)|(lovely|beautiful|terrible|awful|great) (weather|day|morning|afternoon|evening|voice)|weather|sunny|raining|snowing|good (morning|afternoon|evening|day)|hello|hi|hey|greetings|i am (doing |very |quite )?(fine|good|great|well|okay|ok)|friendly|pleasure|dog|cat|lunch|dinner|coffee|breakfast|cooking|garden\w*)\b/;
export const GREETING = /^((oh|ah|yes|yeah|hi|hello|hey|good (morning|afternoon|evening|day)|there|greetings)\W*)+$/;
export const UNSURE =
  /\b(not (so |quite |really |entirely )?(sure|certain)|(do|does) not know( yet)?|maybe|perhaps|let me (think|check|see|look)|hold on|wait|hang on|one (moment|second|minute|sec)|just a (moment|second|minute|sec)|give me a (moment|second|minute))\b/;
export const REPEAT =
  /\b(repeat( that| it)?|say (that|it) (again|once more)|pardon|come again|(did|could|can) not (quite )?(hear|catch|understand|get)|what did you say|what was that|you (are )?break\w* up|once more|(excuse me|sorry|what|huh)$)/;
export const PRESENT =
  /\b(speaking|this is (he|she|him|her|me)|it is me|is on the phone|can hear you|(am|are) (still )?(here|there|listening)|(is )?(anybody|anyone|somebody) there)\b/;
export const VOICEMAIL =
  /\b(mailbox|voice ?mail|leave (a|your|me a) (short )?message|(after|at) the (tone|beep)|can not (take|answer) (your|the) call|not available to take)\b/;
