/** Tasks deferred to the next frames, a few milliseconds per frame. */

const BUDGET_MILLISECONDS = 8;
const waiting = new Set<() => void>();
let isScheduled = false;

function work(): void {
  isScheduled = false;
  const end = performance.now() + BUDGET_MILLISECONDS;
  for (const task of waiting) {
    waiting.delete(task);
    task();
    if (performance.now() > end) break;
  }
  if (waiting.size) schedule();
}

function schedule(): void {
  if (!isScheduled) requestAnimationFrame(work);
  isScheduled = true;
}

/** Run a task in one of the next frames. Returns a function that cancels it. */
export function soon(task: () => void): () => void {
  waiting.add(task);
  schedule();
  return () => waiting.delete(task);
}
