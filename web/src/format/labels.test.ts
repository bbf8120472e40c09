import { expect, test } from "vitest";
import { labelNames } from "./labels";

const make = (names: string[], width: number, dropFolder = true) =>
  names.map(labelNames(names, width, dropFolder).of);

test("names that fit are not shortened", () => {
  expect(make(["sweep/a", "sweep/b"], 7)).toEqual(["sweep/a", "sweep/b"]);
});

test("the common folder is dropped first and reported", () => {
  const names = ["runs/exp/lr-0.1/seed-0", "runs/exp/lr-0.01/seed-0"];
  expect(labelNames(names, 16).folder).toBe("runs/exp/");
  expect(make(names, 16)).toEqual(["lr-0.1/seed-0", "lr-0.01/seed-0"]);
});

// The same names and labels as in tests/test_labels.py.
test("common words are dropped, starting with the longest part", () => {
  const names = ["0.1", "0.01", "1e-3"].flatMap((rate) =>
    [0, 10].map((seed) => `large_transformer_lr_${rate}/imagenet_augmented/seed-${seed}`),
  );
  expect(make(names, 30)).toEqual([
    "…_lr_0.1/…_augmented/seed-0",
    "…_lr_0.1/…_augmented/seed-10",
    "…_lr_0.01/…_augmented/seed-0",
    "…_lr_0.01/…_augmented/seed-10",
    "…_lr_1e-3/…_augmented/seed-0",
    "…_lr_1e-3/…_augmented/seed-10",
  ]);
});

test("parts that differ are kept, however long", () => {
  const names = ["a".repeat(40), "b".repeat(40)];
  expect(make(names, 10)).toEqual(names);
});

test("names of different depth get distinct labels", () => {
  expect(make(["base", "base/lr-0.1", "base/lr-0.1/again"], 4)).toEqual([
    "base",
    "…/lr-0.1",
    "…/lr-0.1/again",
  ]);
});

test("a name that fits is kept if others are too long anyway", () => {
  const names = ["demo/seed-0", "demo/seed-1", `demo/${"x".repeat(40)}/seed-0`];
  expect(make(names, 20, false).slice(0, 2)).toEqual(names.slice(0, 2));
});

test("distinct names have distinct labels at every width, in any order", () => {
  const words = ["run", "lr", "0.1", "1e-3", "seed", "0", "10", "/", "-", "_", "…", "漢"];
  let state = 1;
  const random = (below: number) => {
    state = (state * 48271) % 2147483647;
    return state % below;
  };
  for (let round = 0; round < 2000; round++) {
    const name = () => Array.from({ length: random(12) }, () => words[random(12)]).join("");
    const names = [...new Set(Array.from({ length: 1 + random(10) }, name))];
    const [width, dropFolder] = [random(30), round % 2 === 0];
    const labels = make(names, width, dropFolder);
    expect(new Set(labels).size).toBe(names.length);
    expect(make([...names].reverse(), width, dropFolder).reverse()).toEqual(labels);
  }
});

test.each(["-a".repeat(20_000), "1".repeat(40_000)])(
  "a hostile name takes bounded time",
  (shape) => {
    expect(
      new Set(
        make(
          ["x", "y"].map((end) => shape + end),
          20,
        ),
      ).size,
    ).toBe(2);
  },
);
