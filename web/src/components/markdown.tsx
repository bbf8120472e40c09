/** Markdown from a log, rendered with an allow-list of elements: no HTML, no remote images. */

import type { Token, Tokens } from "marked";
import { createElement, type ReactNode, useMemo } from "react";
import { type Parsed, parseMarkdown, splitLines } from "../format/markdown";
import "./markdown.css";

interface Props {
  text: string;
  /** Number of texts shown together. They share the formatting budget. */
  among?: number;
}

export function Markdown({ text, among = 1 }: Props) {
  const parsed = useMemo(() => parse(text, among), [text, among]);
  if (!parsed) return <Plain text={text} />;
  return (
    <div className="markdown">
      {renderAll(parsed.tokens)}
      {parsed.isSimplified && (
        <p className="hint">This text has too much markup. Parts of it are shown as plain text.</p>
      )}
      {parsed.rest && (
        <>
          <p className="hint">
            This text is too long to format completely. The rest is shown as plain text.
          </p>
          <Plain text={parsed.rest} />
        </>
      )}
    </div>
  );
}

/** Unformatted text. */
export function Plain({ text }: { text: string }) {
  return (
    <div className="plain-text">
      {splitLines(text).map((piece, number) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the order of pieces is fixed
        <pre key={number}>{piece}</pre>
      ))}
    </div>
  );
}

function parse(text: string, among: number): Parsed | null {
  try {
    return parseMarkdown(text, among);
  } catch {
    return null; // show text that the parser rejects without formatting
  }
}

function renderAll(tokens: readonly Token[]): ReactNode[] {
  return tokens.map((token, number) => render(token, number));
}

/** Whether a link is rendered: only web and mail addresses, which load only on a click. */
export function isSafeLink(address: string): boolean {
  return /^(https?:|mailto:)/i.test(address.trim());
}

function render(token: Token, key: number): ReactNode {
  switch (token.type) {
    case "space":
      return null;
    case "heading":
      return createElement(
        `h${Math.min(6, (token as Tokens.Heading).depth + 2)}`,
        { key },
        renderAll(token.tokens ?? []),
      );
    case "paragraph":
      return <p key={key}>{renderAll(token.tokens ?? [])}</p>;
    case "code":
      return <pre key={key}>{(token as Tokens.Code).text}</pre>;
    case "codespan":
      return <code key={key}>{(token as Tokens.Codespan).text}</code>;
    case "strong":
      return <strong key={key}>{renderAll(token.tokens ?? [])}</strong>;
    case "em":
      return <em key={key}>{renderAll(token.tokens ?? [])}</em>;
    case "del":
      return <del key={key}>{renderAll(token.tokens ?? [])}</del>;
    case "br":
      return <br key={key} />;
    case "hr":
      return <hr key={key} />;
    case "blockquote":
      return <blockquote key={key}>{renderAll(token.tokens ?? [])}</blockquote>;
    case "list":
      return renderList(token as Tokens.List, key);
    case "table":
      return renderTable(token as Tokens.Table, key);
    case "link": {
      const { href } = token as Tokens.Link;
      const inside = renderAll(token.tokens ?? []);
      if (!isSafeLink(href)) return <span key={key}>{inside}</span>;
      return (
        <a key={key} href={href} target="_blank" rel="noopener noreferrer">
          {inside}
        </a>
      );
    }
    case "text":
    case "escape":
      if ("tokens" in token && token.tokens)
        return <span key={key}>{renderAll(token.tokens)}</span>;
      return (token as Tokens.Text).text;
    default:
      // HTML, images and everything else are shown as source text.
      return <span key={key}>{token.raw}</span>;
  }
}

function renderList(list: Tokens.List, key: number): ReactNode {
  const items = list.items.map((item, number) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: the order of items is fixed
    <li key={number}>
      {item.task && <input type="checkbox" checked={item.checked ?? false} disabled />}
      {renderAll(item.tokens)}
    </li>
  ));
  return list.ordered ? <ol key={key}>{items}</ol> : <ul key={key}>{items}</ul>;
}

function renderTable(table: Tokens.Table, key: number): ReactNode {
  const cells = (row: Tokens.TableCell[], Cell: "th" | "td") =>
    row.map((cell, number) => (
      // biome-ignore lint/suspicious/noArrayIndexKey: the order of cells is fixed
      <Cell key={number}>{renderAll(cell.tokens)}</Cell>
    ));
  return (
    <table key={key}>
      <thead>
        <tr>{cells(table.header, "th")}</tr>
      </thead>
      <tbody>
        {table.rows.map((row, number) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the order of rows is fixed
          <tr key={number}>{cells(row, "td")}</tr>
        ))}
      </tbody>
    </table>
  );
}
