import { expect, test } from "vitest";
import { Bundle } from "./bundle";

const live = () => new AbortController().signal;
const limits = { tags: 2, requests: 1, weight: 100 };

function make(own = limits) {
  const asked: string[][] = [];
  const signals: AbortSignal[] = [];
  const bundle = new Bundle<string, string>(
    async (question, tags, signal) => {
      asked.push(tags);
      signals.push(signal);
      await new Promise((resolve) => setTimeout(resolve));
      if (question === "bad" || tags.includes("bad")) throw new Error("refused");
      return new Map(tags.map((tag) => [tag, `${question} ${tag}`]));
    },
    (answer) => answer.length,
    own,
  );
  return { bundle, asked, signals };
}

test("wishes of one turn share requests of limited size", async () => {
  const { bundle, asked } = make();
  const answers = await Promise.all(
    ["a", "b", "c"].map((tag) => bundle.load("q", "q", tag, live())),
  );
  expect(answers).toEqual(["q a", "q b", "q c"]);
  expect(asked).toEqual([["a", "b"], ["c"]]);
});

test("different questions do not mix", async () => {
  const { bundle, asked } = make();
  await Promise.all([bundle.load("q", "q", "a", live()), bundle.load("r", "r", "b", live())]);
  expect(asked).toEqual([["a"], ["b"]]);
});

test("what nobody waits for is not asked", async () => {
  const { bundle, asked } = make();
  const gone = new AbortController();
  const lost = bundle.load("q", "q", "a", gone.signal);
  const kept = bundle.load("q", "q", "b", live());
  gone.abort();
  await expect(lost).rejects.toThrow();
  expect(await kept).toBe("q b");
  expect(asked).toEqual([["b"]]);
});

test("a request is cancelled once all have left", async () => {
  const { bundle, signals } = make();
  const gone = new AbortController();
  const lost = bundle.load("q", "q", "a", gone.signal);
  await new Promise((resolve) => setTimeout(resolve));
  gone.abort();
  expect(signals[0]?.aborted).toBe(true);
  await lost.catch(() => undefined);
});

test("an answer is kept until it weighs too much", async () => {
  const { bundle, asked } = make({ ...limits, weight: 7 });
  await bundle.load("q", "q", "a", live());
  expect(bundle.peek("q", "a")).toBe("q a");
  await bundle.load("q", "q", "a", live());
  expect(asked).toHaveLength(1);
  await bundle.load("q", "q", "bcd", live());
  expect(bundle.peek("q", "a")).toBeUndefined();
  expect(bundle.peek("q", "bcd")).toBe("q bcd");
});

test("a refusal reaches every one who asked, and the next request runs", async () => {
  const { bundle } = make();
  const bad = [bundle.load("bad", "bad", "a", live()), bundle.load("bad", "bad", "b", live())];
  const results = await Promise.allSettled(bad);
  expect(results.every((one) => one.status === "rejected")).toBe(true);
  expect(await bundle.load("q", "q", "a", live())).toBe("q a");
});

test("a tag that is refused takes no other with it", async () => {
  const { bundle, asked } = make();
  const results = await Promise.allSettled(
    ["a", "bad"].map((tag) => bundle.load("q", "q", tag, live())),
  );
  expect(results.map((one) => one.status)).toEqual(["fulfilled", "rejected"]);
  expect(asked).toEqual([["a", "bad"], ["a"], ["bad"]]);
});
