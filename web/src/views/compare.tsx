/** The view "compare". */

import { Empty } from "../components/states";

export function CompareView() {
  return <Empty>Not there yet.</Empty>;
}
