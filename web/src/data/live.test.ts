import { afterEach, expect, test, vi } from "vitest";
import { follow } from "./live";

class Source extends EventTarget {
  static readonly CLOSED = 2;
  static all: Source[] = [];
  readyState = 1;

  constructor() {
    super();
    Source.all.push(this);
  }

  send(name: string, generation: number): void {
    this.dispatchEvent(new MessageEvent(name, { data: JSON.stringify({ generation }) }));
  }

  fail(readyState: number): void {
    this.readyState = readyState;
    this.dispatchEvent(new Event("error"));
  }

  close(): void {
    this.readyState = Source.CLOSED;
  }
}

afterEach(() => {
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

test("each generation is loaded once, and again after a reconnect", async () => {
  vi.useFakeTimers();
  Source.all = [];
  vi.stubGlobal("EventSource", Source);
  vi.stubGlobal("fetch", async () => ({ status: 403 }));
  let changes = 0;
  const states: string[] = [];
  const stop = follow(
    () => changes++,
    (state) => states.push(state),
  );
  const [first] = Source.all as [Source];
  for (const name of ["ping", "ping"]) first.send(name, 3);
  expect(changes).toBe(1);
  first.send("change", 4);
  expect(changes).toBe(2);
  first.fail(0);
  expect(states.at(-1)).toBe("lost");
  first.send("ping", 4);
  expect(changes).toBe(3);
  first.fail(Source.CLOSED);
  await vi.advanceTimersByTimeAsync(1000);
  expect(states.at(-1)).toBe("locked");
  const second = Source.all[1] as Source;
  second.send("ping", 4);
  expect([changes, states.at(-1)]).toEqual([4, "live"]);
  stop();
  expect(second.readyState).toBe(Source.CLOSED);
});
