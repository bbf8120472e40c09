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

export function Failed({ error }: { error: Error }) {
  return (
    <p className="state failed" role="alert">
      {error.message}
    </p>
  );
}
