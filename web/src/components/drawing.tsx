/** SVG drawing that fills the available width without scaling, so that text keeps its size. */

import { type ReactNode, useRef } from "react";
import { useSize } from "../data/near";
import "./drawing.css";

interface Props {
  height: number;
  label: string;
  draw: (width: number) => ReactNode;
}

export function Drawing({ height, label, draw }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const size = useSize(box);
  return (
    <div className="drawing" ref={box} style={{ height }}>
      {size && (
        <svg width={size[0]} height={height} role="img" aria-label={label}>
          {draw(size[0])}
        </svg>
      )}
    </div>
  );
}
