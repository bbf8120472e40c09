import { expect, test } from "vitest";
import type { RunTable } from "../data/types";
import { groupLocally } from "./choice";

const TABLE: RunTable = {
  runs: ["a/seed=1", "seed=2"],
  columns: [
    { key: "lr", kind: "hparam", name: "lr", stat: "", isNumber: true, cells: [1e-5, null] },
  ],
};

test("grouping by a column or the folder needs no server, but any other grouping does", () => {
  const group = (by: string) => {
    const groupOf = groupLocally(TABLE, by);
    return groupOf && TABLE.runs.map(groupOf);
  };
  expect(group("lr")).toEqual(["lr=1e-05", "lr=none"]);
  expect(group("parent")).toEqual(["a", "."]);
  for (const by of ["seed=\\d+", "(?P<seed>\\d)", "lrr"]) expect(group(by)).toBeNull();
});
