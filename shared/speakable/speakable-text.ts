import { render, type Sources } from "../placeholders.ts";
import { characterFilter, type TextFilter } from "./character-filter.ts";
import { MarkupFilter } from "./markup-filter.ts";
import { roleLabelFilter } from "./role-labels.ts";
import { ThoughtFilter } from "./thought-filter.ts";

/** The one place where a text becomes one that a voice can read: every engine says, and every transcript keeps, what comes out of here. Pure. */

/** What a voice can say; a text without any of it is none. */
const SAYS_SOMETHING = /[\p{L}\p{N}\p{Sc}*#%&@+]/u;

/** Filters one behind the other. */
const inRow = (...filters: readonly TextFilter[]): TextFilter => {
  const through = (text: string, from: number): string =>
    filters.slice(from).reduce((rest, filter) => filter.push(rest), text);
  return {
    push: (piece) => through(piece, 0),
    end: () => filters.map((filter, at) => through(filter.end(), at + 1)).join(""),
  };
};

/** Gives nothing before something can be said. */
function somethingFilter(): TextFilter {
  let waiting: string | null = "";
  return {
    push(piece) {
      if (waiting === null) return piece;
      waiting += piece;
      if (!SAYS_SOMETHING.test(piece)) return "";
      const first = waiting;
      waiting = null;
      return first;
    },
    end: () => "",
  };
}

/** A model's text without its thoughts and the tokens of its chat template, as it is kept. */
export const withoutThoughts = (): TextFilter => inRow(characterFilter(), new ThoughtFilter());

/** A model's answer as a voice should read it, piece by piece. `names`: what the model may write in front of its words, as in a script. */
export const speakableAnswer = (names: readonly string[] = []): TextFilter =>
  inRow(characterFilter(), new ThoughtFilter(), new MarkupFilter(), roleLabelFilter(names), somethingFilter());

const whole = (filter: TextFilter, text: string): string => filter.push(text) + filter.end();

/** A whole text as a voice should read it: without thoughts, markup, emoji and what is invisible, with single blanks; "" where nothing is left to say. */
export const speakable = (text: string): string =>
  whole(inRow(characterFilter(), new ThoughtFilter(), new MarkupFilter(), somethingFilter()), text)
    .replace(/\s+/g, " ")
    .trim();

/** A text of a template as it is said. A value that looks like the beginning of a thought hides nothing of the text around it. */
export const spokenText = (text: string, sources: Sources): string =>
  speakable(render(text, sources, (value) => whole(withoutThoughts(), value)));
