/** Work that may wait for the next frame, a little in each. */

const BUDGET = 8;
const waiting = new Set<() => void>();
let isPlanned = false;

function work(): void {
  isPlanned = false;
  const end = performance.now() + BUDGET;
  for (const task of waiting) {
    waiting.delete(task);
    task();
    if (performance.now() > end) break;
  }
  if (waiting.size) plan();
}

function plan(): void {
  if (!isPlanned) requestAnimationFrame(work);
  isPlanned = true;
}

/** Do it soon; what is handed back makes it not happen. */
export function soon(task: () => void): () => void {
  waiting.add(task);
  plan();
  return () => waiting.delete(task);
}
