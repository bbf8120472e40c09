/** The view "audio". */

import { Empty } from "../components/states";

export function AudioView() {
  return <Empty>Not there yet.</Empty>;
}
