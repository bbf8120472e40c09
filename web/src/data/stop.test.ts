import { expect, test } from "vitest";
import { GRACE, isKillDue, isUnderWay, type Stop, stagesOf } from "./stop";

const requested: Stop = {
  stage: "asked",
  state: "stopping",
  who: "ada",
  reason: "",
  when: 1000,
  whyNotKill: "",
};

test("stages are completed one after another", () => {
  expect(stagesOf(requested).map(([, isDone]) => isDone)).toEqual([true, false, false]);
  expect(stagesOf({ ...requested, stage: "seen" }).map(([, isDone]) => isDone)).toEqual([
    true,
    true,
    false,
  ]);
  expect(stagesOf({ ...requested, stage: "killed" })[2]).toEqual(["killed", true]);
  expect(stagesOf({ ...requested, stage: "ended", state: "stopped" })[2]).toEqual([
    "ended: stopped",
    true,
  ]);
});

test("a run can be killed after its grace period", () => {
  expect(isKillDue(requested, 1000, 1000 + GRACE - 1)).toBe(false);
  expect(isKillDue(requested, 1000, 1000 + GRACE)).toBe(true);
  // Requested long before this page was opened.
  expect(isKillDue(requested, 5000, 5000)).toBe(true);
  // The requester's clock is ahead, or the request has no time.
  expect(isKillDue({ ...requested, when: 9000 }, 5000, 5000 + GRACE)).toBe(true);
  expect(isKillDue({ ...requested, when: null }, 5000, 5001)).toBe(false);
  expect(isKillDue({ ...requested, stage: "terminated" }, 0, 9999)).toBe(false);
});

test("a stop that has ended or was never requested is not under way", () => {
  expect(isUnderWay(requested)).toBe(true);
  expect(isUnderWay({ ...requested, stage: "running" })).toBe(false);
  expect(isUnderWay({ ...requested, stage: "ended" })).toBe(false);
});
