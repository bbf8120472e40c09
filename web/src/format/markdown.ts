/** Markdown as tokens, in bounded time: what would take too long stays plain text. */

import { Lexer, type Token } from "marked";

/** How much Markdown is formatted in one view. The texts in it share that evenly. */
export const LONGEST = 100_000;
export const WORK = 2_000_000;
/** The most characters of one text, and how deep lists and quotes may be nested. */
const LONGEST_TEXT = 20_000;
const DEEPEST = 16;

export interface Parsed {
  tokens: Token[];
  /** The end of a text that is too long to be formatted. */
  rest: string;
  /** Whether parts of the tokens are plain text to save time. */
  isSimplified: boolean;
  /** What the parser was given to do: characters times the punctuation among them. */
  work: number;
}

/** Parses one of `among` texts that are shown together. */
export function parseMarkdown(text: string, among = 1): Parsed {
  const [start, rest] = cut(text, Math.min(LONGEST_TEXT, Math.floor(LONGEST / among)));
  const parser = new BoundedLexer(WORK / among);
  const tokens = parser.lex(start);
  return { tokens, rest, isSimplified: parser.isSimplified, work: parser.work };
}

/** The beginning of a text up to the end of a paragraph or a line, and the rest. */
function cut(text: string, longest: number): [string, string] {
  if (text.length <= longest) return [text, ""];
  const paragraph = text.lastIndexOf("\n\n", longest);
  const line = text.lastIndexOf("\n", longest);
  const size = paragraph > longest / 2 ? paragraph : line > longest / 2 ? line : 0;
  return [text.slice(0, size), text.slice(size)];
}

/**
 * Marked's parser with a limit. For each `_` it searches the rest of a text, so 99,500
 * times `_a` took 17 seconds; and it calls itself for each `>` at the start of a line.
 */
class BoundedLexer extends Lexer {
  work = 0;
  isSimplified = false;
  private depth = 0;

  constructor(private readonly most: number) {
    super({ gfm: true });
  }

  override blockTokens(
    src: string,
    tokens: Token[] = [],
    lastParagraphClipped?: boolean,
    // biome-ignore lint/suspicious/noExplicitAny: marked's overloads return what they were given
  ): any {
    if (this.depth > DEEPEST) return this.keep(src, tokens);
    this.depth += 1;
    const found = super.blockTokens(src, tokens, lastParagraphClipped);
    this.depth -= 1;
    return found;
  }

  override inlineTokens(src: string, tokens: Token[] = []): Token[] {
    const work = src.length * (1 + countPunctuation(src));
    if (this.work + work > this.most) return this.keep(src, tokens);
    this.work += work;
    return super.inlineTokens(src, tokens);
  }

  private keep(src: string, tokens: Token[]): Token[] {
    this.isSimplified = true;
    tokens.push({ type: "text", raw: src, text: src });
    return tokens;
  }
}

function countPunctuation(text: string): number {
  return text.match(/[!-/:-@[-`{-~]/g)?.length ?? 0;
}
