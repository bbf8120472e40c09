/** Parses Markdown in bounded time. Text that would take too long stays plain. */

import { Lexer, type Token, Tokenizer, type Tokens } from "marked";

/** Amount of work done by the parser. Unlike time, it does not depend on the machine. */
export interface Work {
  /** Characters of each inline text, times its punctuation characters and line breaks. */
  markup: number;
  /** Characters of each list item and quote, times its lines. */
  lines: number;
  /** Elements to render: table cells, list items, bold words and so on. */
  elements: number;
}

/** Limits per view, divided evenly among its texts. */
export const LONGEST = 100_000;
export const MOST: Work = { markup: 2_000_000, lines: 8_000_000, elements: 4_500 };
/** Maximum characters per text, and maximum nesting of lists and quotes. */
const LONGEST_TEXT = 20_000;
const DEEPEST = 16;

export interface Parsed {
  tokens: Token[];
  /** The rest of a text that is too long to format. */
  rest: string;
  /** Whether parts of the tokens are plain text to save time. */
  isSimplified: boolean;
  work: Work;
}

/** Parse one of `among` texts that are shown together. */
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

/** Split plain text into pieces of at most `most` lines, so that the browser can skip hidden ones. */
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

/** If a text is too long, split it at the end of a paragraph or line. */
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
  const split = paragraph > size / 2 ? paragraph : line > size / 2 ? line : 0;
  return [text.slice(0, split), text.slice(split)];
}

/**
 * Marked's parser with limits. Marked searches the rest of the text for each `_`, so
 * `_a` repeated 99,500 times took 17 seconds. It recurses for each `>` at the start of a
 * line, and pads each short table row to the length of the first.
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
    // biome-ignore lint/suspicious/noExplicitAny: marked's overloads return the type of their argument
  ): any {
    const lines = this.depth && src.length * (1 + count(src, /\n/g));
    const isLeft = this.depth <= DEEPEST && this.take("lines", lines) && this.take("elements", 4);
    if (!isLeft) return this.keep(src, tokens);
    this.depth += 1;
    const result = super.blockTokens(src, tokens, lastParagraphClipped);
    this.depth -= 1;
    return result;
  }

  override inlineTokens(src: string, tokens: Token[] = []): Token[] {
    const markup = src.length * (1 + count(src, /[!-/:-@[-`{-~\n]/g));
    if (!this.take("elements", 1) || !this.take("markup", markup)) return this.keep(src, tokens);
    const result = super.inlineTokens(src, tokens);
    this.work.elements += Math.max(0, result.length - 1);
    return result;
  }

  /** Whether this much work is within the limit. */
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
    const match = this.rules.block.table.exec(src);
    if (!match) return undefined;
    const lexer = this.lexer as BoundedLexer;
    const [raw, header = ""] = match;
    if (lexer.has("elements", count(header, /\|/g) * count(raw, /\n/g))) return super.table(src);
    lexer.isSimplified = true;
    return { type: "code", raw, text: raw } as unknown as Tokens.Table;
  }
}

function count(text: string, pattern: RegExp): number {
  return text.match(pattern)?.length ?? 0;
}
