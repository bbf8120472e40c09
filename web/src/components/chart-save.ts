/** Export of a chart as CSV, SVG or PNG. */

import { indicesIn } from "../data/lines";
import { writeCsv } from "../format/csv";
import { type Picture, writeSvg } from "../format/svg";

export type FileKind = "csv" | "svg" | "png";

export async function saveChart(picture: Picture, kind: FileKind): Promise<void> {
  const name = picture.title.replace(/[^\p{L}\p{N}._-]+/gu, "_").slice(0, 100) || "chart";
  if (kind === "csv") save(new Blob([listPoints(picture)], { type: "text/csv" }), `${name}.csv`);
  else {
    const svg = new Blob([writeSvg(picture)], { type: "image/svg+xml" });
    save(kind === "svg" ? svg : await paint(svg), `${name}.${kind}`);
  }
}

/** Download a file in the browser. */
export function save(blob: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  // Once the download has begun, it no longer needs the URL.
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

async function paint(svg: Blob): Promise<Blob> {
  const image = new Image();
  image.src = URL.createObjectURL(svg);
  try {
    await image.decode();
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [image.width * 2, image.height * 2];
    canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
    return await new Promise((resolve, reject) =>
      canvas.toBlob((blob) =>
        blob ? resolve(blob) : reject(new Error("The image is too large to save as PNG.")),
      ),
    );
  } finally {
    URL.revokeObjectURL(image.src);
  }
}

function listPoints({ lines, x, xLabel }: Picture): string {
  const isFolded = lines.some((line) => line.low);
  const isSmooth = lines.some((line) => line.raw);
  const header = [isFolded ? "group" : "run", "tag", xLabel, "value"];
  if (isSmooth) header.push("smoothed");
  if (isFolded) header.push("low", "high", "count");
  function* rows() {
    for (const line of lines) {
      const { name, tag, count } = line.series;
      const [start, end] = indicesIn(line, x);
      for (let index = start; index < end; index++) {
        const own = line.x[index] as number;
        if (own < x[0] || own > x[1]) continue;
        const at = (values: Float64Array | null) => values?.[index] ?? Number.NaN;
        const row: (string | number)[] = [name, tag, own, at(line.raw ?? line.y)];
        if (isSmooth) row.push(at(line.y));
        if (isFolded) row.push(at(line.low), at(line.high), at(count));
        yield row;
      }
    }
  }
  return writeCsv(header, rows());
}
