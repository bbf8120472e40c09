/** The view "images". */

import { Empty } from "../components/states";

export function ImagesView() {
  return <Empty>Not there yet.</Empty>;
}
