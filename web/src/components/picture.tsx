/** Image with boxes and masks as optional overlays. */

import { useEffect, useRef, useState } from "react";
import { blobAddress } from "../data/api";
import { type Boxes, chooseBoxes, fillMask, type Picture, readColor } from "../data/media";
import { formatNumber } from "../format/number";

interface Props {
  picture: Picture;
  tag: string;
  layers: "boxes" | "masks" | "both" | "none";
  threshold: number;
  isLabelOff: (label: string) => boolean;
  size: number;
}

export function PictureBox({ picture, tag, layers, threshold, isLabelOff, size }: Props) {
  const [isBroken, setBroken] = useState(false);
  const { boxes } = picture;
  // The stored image has the boxes and masks drawn into it.
  const hasBare = boxes !== undefined && !boxes.isCut;
  const address = hasBare
    ? blobAddress("boxes", { run: picture.run, blob: boxes.blob, index: 0 }, tag)
    : blobAddress("image", picture, tag);
  if (picture.problem) return <p className="hint failed">{picture.problem}</p>;
  if (isBroken) return <p className="hint failed">This image cannot be decoded.</p>;
  const isSmall = picture.width <= size / 2 && picture.height <= size / 2;
  return (
    <div className={isSmall ? "picture small" : "picture"} style={{ width: size }}>
      <img
        src={address}
        alt={`${tag} of ${picture.run} at step ${picture.step}`}
        loading="lazy"
        onError={() => setBroken(true)}
      />
      {hasBare && (layers === "masks" || layers === "both") && (
        <Masks boxes={boxes} shown={chooseBoxes(boxes, threshold, isLabelOff)} />
      )}
      {hasBare && (layers === "boxes" || layers === "both") && (
        <Frames boxes={boxes} shown={chooseBoxes(boxes, threshold, isLabelOff)} size={size} />
      )}
    </div>
  );
}

function Frames({ boxes, shown, size }: { boxes: Boxes; shown: number[]; size: number }) {
  // Font size in image pixels that matches other small text on the screen.
  const fontSize = (11 * boxes.width) / size;
  return (
    <svg viewBox={`0 0 ${boxes.width} ${boxes.height}`} aria-hidden>
      {shown.map((number) => {
        const [left, top, right, bottom] = boxes.boxes[number] ?? [0, 0, 0, 0];
        const [red, green, blue] = readColor(boxes.colors[number] ?? "");
        const color = `rgb(${red} ${green} ${blue})`;
        const score = boxes.scores?.[number];
        const label = [boxes.labels?.[number], typeof score === "number" && formatNumber(score, 2)]
          .filter(Boolean)
          .join(" ");
        return (
          <g key={number}>
            <rect
              x={left}
              y={top}
              width={right - left}
              height={bottom - top}
              stroke={color}
              vectorEffect="non-scaling-stroke"
            />
            {label && (
              <text
                x={left + fontSize / 4}
                y={top < fontSize * 1.3 ? top + fontSize * 1.1 : top - fontSize / 3}
                fill={isBright(red, green, blue) ? "#000" : "#fff"}
                stroke={color}
                fontSize={fontSize}
                strokeWidth={fontSize / 2}
              >
                {label}
              </text>
            )}
          </g>
        );
      })}
    </svg>
  );
}

/** Whether black text is easier to read than white text on this color. */
function isBright(red: number, green: number, blue: number): boolean {
  return 0.299 * red + 0.587 * green + 0.114 * blue > 140;
}

function Masks({ boxes, shown }: { boxes: Boxes; shown: number[] }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const key = shown.join();
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key identifies the shown masks
  useEffect(() => {
    const context = canvas.current?.getContext("2d");
    if (!context || !boxes.masks) return;
    const image = context.createImageData(boxes.width, boxes.height);
    for (const number of shown) {
      const mask = boxes.masks[number];
      const fits = mask && mask.size[0] === boxes.height && mask.size[1] === boxes.width;
      if (fits) fillMask(mask, readColor(boxes.colors[number] ?? ""), image.data);
    }
    context.putImageData(image, 0, 0);
  }, [boxes, key]);
  if (!boxes.masks) return null;
  return <canvas ref={canvas} width={boxes.width} height={boxes.height} aria-hidden />;
}
