/** The view "runs". */

import { Empty } from "../components/states";

export function RunsView() {
  return <Empty>Not there yet.</Empty>;
}
