/** What is shown where there is nothing to show, not yet, or no more. */

import type { ReactNode } from "react";

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
