/** Markdown as tokens, in bounded time: what would take too long stays plain text. */

import { Lexer, type Token, Tokenizer, type Tokens } from "marked";

/** What the parser does, counted: time on a busy machine says little. */
export interface Work {
  /** Characters of each line of text, times the punctuation and line breaks among them. */
  markup: number;
  /** Characters of each list item and quote, times its lines: each line is searched for all. */
  lines: number;
  /** Table cells, list items, words in bold and so on: what the page has to draw. */
  elements: number;
}

/** How much Markdown is formatted in one view. The texts in it share that evenly. */
export const LONGEST = 100_000;
export const MOST: Work = { markup: 2_000_000, lines: 8_000_000, elements: 4_500 };
/** The most characters of one text, and how deep lists and quotes may be nested. */
const LONGEST_TEXT = 20_000;
const DEEPEST = 16;

export interface Parsed {
  tokens: Token[];
  /** The end of a text that is too long to be formatted. */
  rest: string;
  /** Whether parts of the tokens are plain text to save time. */
  isSimplified: boolean;
  work: Work;
}

/** Parses one of `among` texts that are shown together. */
export function parseMarkdown(text: string, among = 1): Parsed {
  const most = {
    markup: MOST.markup / among,
    lines: MOST.lines / among,
    elements: MOST.elements / among,
  };
  const [start, rest] = cut(text, Math.min(LONGEST_TEXT, LONGEST / among), most.elements / 2);
  const parser = new BoundedLexer(most);
  const tokens = parser.lex(start);
  return { tokens, rest, isSimplified: parser.isSimplified, work: parser.work };
}

/** Plain text in pieces of at most `most` lines: the browser skips those out of sight. */
export function splitLines(text: string, most = 4000): string[] {
  const pieces: string[] = [];
  let start = 0;
  for (let end = text.indexOf("\n"), lines = 1; end >= 0; end = text.indexOf("\n", end + 1)) {
    if (lines++ % most) continue;
    pieces.push(text.slice(start, end));
    start = end + 1;
  }
  return [...pieces, text.slice(start)];
}

/** The beginning of a text up to the end of a paragraph or a line, and the rest. */
function cut(text: string, longest: number, mostLines: number): [string, string] {
  let end = -1;
  for (let lines = 0; lines < mostLines; lines++) {
    end = text.indexOf("\n", end + 1);
    if (end < 0) break;
  }
  const size = end < 0 ? longest : Math.min(longest, end);
  if (text.length <= size) return [text, ""];
  const paragraph = text.lastIndexOf("\n\n", size);
  const line = text.lastIndexOf("\n", size);
  const place = paragraph > size / 2 ? paragraph : line > size / 2 ? line : 0;
  return [text.slice(0, place), text.slice(place)];
}

/**
 * Marked's parser with limits. For each `_` it searches the rest of a text, so 99,500
 * times `_a` took 17 seconds; it calls itself for each `>` at the start of a line; and
 * it fills each short row of a table up to the length of the first.
 */
class BoundedLexer extends Lexer {
  work: Work = { markup: 0, lines: 0, elements: 0 };
  isSimplified = false;
  private depth = 0;

  constructor(private readonly most: Work) {
    super({ gfm: true, tokenizer: new BoundedTokenizer() });
  }

  override blockTokens(
    src: string,
    tokens: Token[] = [],
    lastParagraphClipped?: boolean,
    // biome-ignore lint/suspicious/noExplicitAny: marked's overloads return what they were given
  ): any {
    const lines = this.depth && src.length * (1 + count(src, /\n/g));
    const isLeft = this.depth <= DEEPEST && this.take("lines", lines) && this.take("elements", 4);
    if (!isLeft) return this.keep(src, tokens);
    this.depth += 1;
    const found = super.blockTokens(src, tokens, lastParagraphClipped);
    this.depth -= 1;
    return found;
  }

  override inlineTokens(src: string, tokens: Token[] = []): Token[] {
    const markup = src.length * (1 + count(src, /[!-/:-@[-`{-~\n]/g));
    if (!this.take("elements", 1) || !this.take("markup", markup)) return this.keep(src, tokens);
    const found = super.inlineTokens(src, tokens);
    this.work.elements += Math.max(0, found.length - 1);
    return found;
  }

  /** Whether there is time left for this much work. */
  has(kind: keyof Work, amount: number): boolean {
    return this.work[kind] + amount <= this.most[kind];
  }

  private take(kind: keyof Work, amount: number): boolean {
    const isLeft = this.has(kind, amount);
    if (isLeft) this.work[kind] += amount;
    return isLeft;
  }

  private keep(src: string, tokens: Token[]): Token[] {
    this.isSimplified = true;
    tokens.push({ type: "text", raw: src, text: src });
    return tokens;
  }
}

class BoundedTokenizer extends Tokenizer {
  override table(src: string): Tokens.Table | undefined {
    const found = this.rules.block.table.exec(src);
    if (!found) return undefined;
    const lexer = this.lexer as BoundedLexer;
    const [raw, header = ""] = found;
    if (lexer.has("elements", count(header, /\|/g) * count(raw, /\n/g))) return super.table(src);
    lexer.isSimplified = true;
    return { type: "code", raw, text: raw } as unknown as Tokens.Table;
  }
}

function count(text: string, pattern: RegExp): number {
  return text.match(pattern)?.length ?? 0;
}
