/** Empty, loading and error states. */

import { Component, type ReactNode } from "react";

export function Empty({ children }: { children: ReactNode }) {
  return <p className="state empty">{children}</p>;
}

export function Waiting({ what }: { what: string }) {
  return (
    <p className="state" role="status">
      Loading {what}…
    </p>
  );
}

export function Failed({ error, className = "state" }: { error: Error; className?: string }) {
  // Multi-line messages point at a position in the text above, so they need a monospaced font.
  const kind = error.message.includes("\n") ? "failed lines" : "failed";
  return (
    <p className={`${className} ${kind}`} role="alert">
      {error.message}
    </p>
  );
}

/** Note that only some of the runs are drawn. */
export function TooManyRuns({ most, count }: { most: number; count: number }) {
  if (count <= most) return null;
  return (
    <p className="hint">
      Showing {most} of {count} runs. Deselect some to see others.
    </p>
  );
}

/** Error boundary: if a view throws, the error is shown and the rest of the page remains. */
export class ErrorBoundary extends Component<{ children: ReactNode }, { error: Error | null }> {
  override state = { error: null as Error | null };

  static getDerivedStateFromError(thrown: unknown) {
    return { error: thrown instanceof Error ? thrown : new Error(String(thrown)) };
  }

  override render() {
    const { error } = this.state;
    if (!error) return this.props.children;
    return (
      <div className="state" role="alert">
        <p className="failed">This view cannot be shown: {error.message}</p>
        <button type="button" onClick={() => this.setState({ error: null })}>
          Try again
        </button>
      </div>
    );
  }
}
