/** The view "histograms". */

import { Empty } from "../components/states";

export function HistogramsView() {
  return <Empty>Not there yet.</Empty>;
}
