/** What is shown where there is nothing to show, not yet, or no more. */

import { Component, type ReactNode } from "react";

export function Empty({ children }: { children: ReactNode }) {
  return <p className="state empty">{children}</p>;
}

export function Waiting({ what }: { what: string }) {
  return (
    <p className="state" role="status">
      Loading {what} …
    </p>
  );
}

export function Failed({ error, className = "state" }: { error: Error; className?: string }) {
  // Where several lines show the place of a mistake, a sign stands below another.
  const kind = error.message.includes("\n") ? "failed lines" : "failed";
  return (
    <p className={`${className} ${kind}`} role="alert">
      {error.message}
    </p>
  );
}

/** That there are more runs than are drawn. */
export function TooManyRuns({ most, count }: { most: number; count: number }) {
  if (count <= most) return null;
  return (
    <p className="hint">
      {most} of {count} runs are drawn; switch some off to see others.
    </p>
  );
}

/** Where a view cannot be drawn, the rest of the page stays, and tells why. */
export class Caught extends Component<{ children: ReactNode }, { error: Error | null }> {
  override state = { error: null as Error | null };

  static getDerivedStateFromError(thrown: unknown) {
    return { error: thrown instanceof Error ? thrown : new Error(String(thrown)) };
  }

  override render() {
    const { error } = this.state;
    if (!error) return this.props.children;
    return (
      <div className="state" role="alert">
        <p className="failed">This cannot be drawn: {error.message}</p>
        <button type="button" onClick={() => this.setState({ error: null })}>
          Try again
        </button>
      </div>
    );
  }
}
