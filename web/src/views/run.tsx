/** The view "run". */

import { Empty } from "../components/states";

export function RunView() {
  return <Empty>Not there yet.</Empty>;
}
