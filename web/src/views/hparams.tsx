/** The view "hparams". */

import { Empty } from "../components/states";

export function HparamsView() {
  return <Empty>Not there yet.</Empty>;
}
