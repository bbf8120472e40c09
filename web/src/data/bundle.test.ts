import { expect, test } from "vitest";
import { Bundle } from "./bundle";

const live = () => new AbortController().signal;
const limits = { tags: 2, requests: 1, weight: 100 };

function make(own = limits) {
  const requests: string[][] = [];
  const signals: AbortSignal[] = [];
  const bundle = new Bundle<string, string>(
    async (question, tags, signal) => {
      requests.push(tags);
      signals.push(signal);
      await new Promise((resolve) => setTimeout(resolve));
      if (question === "bad" || tags.includes("bad")) throw new Error("rejected");
      return new Map(tags.map((tag) => [tag, `${question} ${tag}`]));
    },
    (answer) => answer.length,
    own,
  );
  return { bundle, requests, signals };
}

test("loads in the same tick share requests of limited size", async () => {
  const { bundle, requests } = make();
  const answers = await Promise.all(
    ["a", "b", "c"].map((tag) => bundle.load("q", "q", tag, live())),
  );
  expect(answers).toEqual(["q a", "q b", "q c"]);
  expect(requests).toEqual([["a", "b"], ["c"]]);
});

test("different questions are not combined", async () => {
  const { bundle, requests } = make();
  await Promise.all([bundle.load("q", "q", "a", live()), bundle.load("r", "r", "b", live())]);
  expect(requests).toEqual([["a"], ["b"]]);
});

test("aborted loads are not requested", async () => {
  const { bundle, requests } = make();
  const gone = new AbortController();
  const lost = bundle.load("q", "q", "a", gone.signal);
  const kept = bundle.load("q", "q", "b", live());
  gone.abort();
  await expect(lost).rejects.toThrow();
  expect(await kept).toBe("q b");
  expect(requests).toEqual([["b"]]);
});

test("a request is cancelled once all its loads are aborted", async () => {
  const { bundle, signals } = make();
  const gone = new AbortController();
  const lost = bundle.load("q", "q", "a", gone.signal);
  await new Promise((resolve) => setTimeout(resolve));
  gone.abort();
  expect(signals[0]?.aborted).toBe(true);
  await lost.catch(() => undefined);
});

test("answers are cached up to a total weight", async () => {
  const { bundle, requests } = make({ ...limits, weight: 7 });
  await bundle.load("q", "q", "a", live());
  expect(bundle.peek("q", "a")).toBe("q a");
  await bundle.load("q", "q", "a", live());
  expect(requests).toHaveLength(1);
  await bundle.load("q", "q", "bcd", live());
  expect(bundle.peek("q", "a")).toBeUndefined();
  expect(bundle.peek("q", "bcd")).toBe("q bcd");
});

test("an error reaches every waiting load, and the next request still runs", async () => {
  const { bundle } = make();
  const bad = [bundle.load("bad", "bad", "a", live()), bundle.load("bad", "bad", "b", live())];
  const results = await Promise.allSettled(bad);
  expect(results.every((result) => result.status === "rejected")).toBe(true);
  expect(await bundle.load("q", "q", "a", live())).toBe("q a");
});

test("a tag with an error does not affect the others", async () => {
  const { bundle, requests } = make();
  const results = await Promise.allSettled(
    ["a", "bad"].map((tag) => bundle.load("q", "q", tag, live())),
  );
  expect(results.map((result) => result.status)).toEqual(["fulfilled", "rejected"]);
  expect(requests).toEqual([["a", "bad"], ["a"], ["bad"]]);
});
