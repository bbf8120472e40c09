import { expect, test } from "vitest";
import { GRACE, isKillDue, isUnderWay, type Stop, stagesOf } from "./stop";

const asked: Stop = {
  stage: "asked",
  state: "stopping",
  who: "ada",
  reason: "",
  when: 1000,
  whyNotKill: "",
};

test("stages are behind one after the other", () => {
  expect(stagesOf(asked).map(([, isDone]) => isDone)).toEqual([true, false, false]);
  expect(stagesOf({ ...asked, stage: "seen" }).map(([, isDone]) => isDone)).toEqual([
    true,
    true,
    false,
  ]);
  expect(stagesOf({ ...asked, stage: "killed" })[2]).toEqual(["killed", true]);
  expect(stagesOf({ ...asked, stage: "ended", state: "stopped" })[2]).toEqual([
    "ended: stopped",
    true,
  ]);
});

test("a run may be killed when it had its time", () => {
  expect(isKillDue(asked, 1000, 1000 + GRACE - 1)).toBe(false);
  expect(isKillDue(asked, 1000, 1000 + GRACE)).toBe(true);
  // Asked long before this page was opened.
  expect(isKillDue(asked, 5000, 5000)).toBe(true);
  // By somebody whose clock is ahead, or by a file that says nothing.
  expect(isKillDue({ ...asked, when: 9000 }, 5000, 5000 + GRACE)).toBe(true);
  expect(isKillDue({ ...asked, when: null }, 5000, 5001)).toBe(false);
  expect(isKillDue({ ...asked, stage: "terminated" }, 0, 9999)).toBe(false);
});

test("what has ended, or was never asked, is not under way", () => {
  expect(isUnderWay(asked)).toBe(true);
  expect(isUnderWay({ ...asked, stage: "running" })).toBe(false);
  expect(isUnderWay({ ...asked, stage: "ended" })).toBe(false);
});
