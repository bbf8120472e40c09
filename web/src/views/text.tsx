/** The view "text". */

import { Empty } from "../components/states";

export function TextView() {
  return <Empty>Not there yet.</Empty>;
}
