/** The view "more". */

import { Empty } from "../components/states";

export function MoreView() {
  return <Empty>Not there yet.</Empty>;
}
