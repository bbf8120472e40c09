/** The view "sql". */

import { Empty } from "../components/states";

export function SqlView() {
  return <Empty>Not there yet.</Empty>;
}
