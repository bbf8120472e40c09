/** The view "curves". */

import { Empty } from "../components/states";

export function CurvesView() {
  return <Empty>Not there yet.</Empty>;
}
