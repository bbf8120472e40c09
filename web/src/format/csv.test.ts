import { expect, test } from "vitest";
import { writeCsv } from "./csv";

test("numbers keep all digits and strings are quoted if necessary", () => {
  const rows = [
    ['a,"b"', 0.1 + 0.2, Number.NaN],
    ["c\nd", Number.NEGATIVE_INFINITY, 1e300],
  ];
  expect(writeCsv(["run", "x", "y"], rows)).toBe(
    'run,x,y\r\n"a,""b""",0.30000000000000004,nan\r\n"c\nd",-inf,1e+300\r\n',
  );
});

test("a name cannot become a formula", () => {
  expect(writeCsv(["run"], [["=1+1"], ["@x"], ["-a"]])).toBe("run\r\n'=1+1\r\n'@x\r\n'-a\r\n");
});
