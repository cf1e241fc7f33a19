/** What is said in the speech bench. */

/** What callers answer: a recogniser that hears well writes each without an error. */
export const ANSWERS = [
  "Yes, please confirm it.",
  "No, I'd like another day.",
  "Friday would be better for me.",
  "My number is five two nine four one.",
  "Could you repeat that?",
  "I don't want the parcel, please cancel it.",
] as const;

/** What the agent says without a pause for an answer: 87 words. */
export const MESSAGE = [
  "This is a message from the parcel service about the order that you placed with us last week.",
  "The driver came to your house on Monday morning, but nobody was there to open the door.",
  "Your parcel is now in the small shop next to the railway station, and it stays there until Saturday evening.",
  "The shop is open from eight in the morning until seven at night.",
  "Please bring a passport or another paper with your name and your picture when you come to the shop.",
] as const;

/** The beginning of a call whose law wants it to be heard. */
export const GREETING =
  "Hello, this is the assistant of the parcel service, which is a machine. This call is recorded. I have a question about your order.";

/** Said over the agent, and none of it a wish to speak. */
export const NODS = ["Uh huh.", "Okay.", "Yeah.", "Right.", "I see."] as const;

/** The first words of somebody who picks up. */
export const HELLO = "Hello?";

/** Said by others in the room and on the television. */
export const OTHERS = [
  "The weather tomorrow will be cold with some rain in the north of the country.",
  "Did you see the game last night, they really played very well in the second half.",
  "I told him that the kitchen needs a new table before the summer begins.",
  "The minister said on Tuesday that the new law will not change anything for families.",
  "We could take the train in the morning and come back with your brother.",
  "Prices for bread and milk went up again, as people in the market told us.",
] as const;

/** What the agent replies to an answer; each is another, so that none was spoken before. */
export const replyOf = (n: number): string => `Thank you, that is written down on page ${numberWords(n)}.`;

const ONES = "zero one two three four five six seven eight nine".split(" ");
const numberWords = (n: number): string => [...String(n)].map((digit) => ONES[Number(digit)] ?? "").join(" ");

/** Every sentence that the recogniser has to know. */
export const allSentences = (): string[] => [
  ...ANSWERS,
  ...MESSAGE,
  GREETING,
  ...NODS.map((nod) => nod.replace("huh", "huh")),
  HELLO,
  "No.",
  "Yes.",
  "Stop.",
  ...OTHERS,
  ...Array.from({ length: 10 }, (_, n) => replyOf(n)),
  ...Array.from({ length: 10 }, (_, n) => `${ONES[n]} ${ONES[(n * 3 + 1) % 10]} ${ONES[(n * 7 + 2) % 10]}`),
];
