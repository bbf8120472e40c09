/** Mesh or point cloud on a canvas, rotated by dragging or with the arrow keys. */

import { type KeyboardEvent, useEffect, useRef } from "react";
import type { Mesh } from "../data/extras";
import { readColor } from "../data/media";
import { orderByDepth, project, shade, type Turn, turnBy } from "../scale/turn";

const SIZE = 360;
const STEP = Math.PI / 24;

interface Props {
  mesh: Mesh;
  turn: Turn;
  color: string;
  label: string;
  onTurn: (change: (turn: Turn) => Turn) => void;
}

export function MeshCanvas({ mesh, turn, color, label, onTurn }: Props) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const dragged = useRef<[number, number] | null>(null);
  useEffect(() => {
    const context = canvas.current?.getContext("2d");
    if (!context) return;
    const frame = requestAnimationFrame(() => draw(context, mesh, turn, color));
    return () => cancelAnimationFrame(frame);
  }, [mesh, turn, color]);
  useEffect(() => {
    const element = canvas.current;
    if (!element) return;
    // React's wheel listener is passive and cannot keep the page from scrolling.
    const zoom = (event: WheelEvent) => {
      if (!event.ctrlKey && document.activeElement !== element) return;
      event.preventDefault();
      onTurn((before) => turnBy(before, 0, 0, Math.exp(-event.deltaY / 400)));
    };
    element.addEventListener("wheel", zoom, { passive: false });
    return () => element.removeEventListener("wheel", zoom);
  }, [onTurn]);
  return (
    <canvas
      ref={canvas}
      className="mesh"
      width={2 * SIZE}
      height={2 * SIZE}
      tabIndex={0}
      role="img"
      aria-label={`${label}. Arrow keys rotate; plus and minus zoom.`}
      onPointerDown={(event) => {
        dragged.current = [event.clientX, event.clientY];
        event.currentTarget.setPointerCapture(event.pointerId);
        event.currentTarget.focus();
      }}
      onPointerMove={(event) => {
        if (!dragged.current) return;
        const [x, y] = dragged.current;
        dragged.current = [event.clientX, event.clientY];
        const [across, down] = [event.clientX - x, event.clientY - y];
        onTurn((before) => turnBy(before, across / 120, down / 120));
      }}
      onPointerUp={() => {
        dragged.current = null;
      }}
      onKeyDown={(event) => handleKey(event, onTurn)}
    />
  );
}

const KEYS: Record<string, [around: number, up: number, zoom: number]> = {
  ArrowLeft: [-STEP, 0, 1],
  ArrowRight: [STEP, 0, 1],
  ArrowUp: [0, -STEP, 1],
  ArrowDown: [0, STEP, 1],
  "+": [0, 0, 1.2],
  "=": [0, 0, 1.2],
  "-": [0, 0, 1 / 1.2],
};

function handleKey(event: KeyboardEvent, onTurn: Props["onTurn"]): void {
  const change = KEYS[event.key];
  if (!change || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  onTurn((before) => turnBy(before, ...change));
}

function draw(context: CanvasRenderingContext2D, mesh: Mesh, turn: Turn, color: string): void {
  const seen = project(mesh.vertices, turn);
  const plain = readColor(color);
  const at = (value: number) => SIZE + value * SIZE * 0.94;
  const paint = (point: number, light: number) => {
    const own = mesh.colors.length
      ? Array.from(mesh.colors.subarray(3 * point, 3 * point + 3))
      : plain;
    return `rgb(${own.map((part) => Math.round(part * light)).join(" ")})`;
  };
  context.clearRect(0, 0, 2 * SIZE, 2 * SIZE);
  for (const item of orderByDepth(seen, mesh.faces)) {
    if (!mesh.faces.length) {
      context.fillStyle = paint(item, 0.6 + 0.4 * Math.min(1, Math.max(0, seen.depth[item] ?? 0)));
      context.fillRect(at(seen.x[item] ?? 0) - 2, at(seen.y[item] ?? 0) - 2, 4, 4);
      continue;
    }
    const corners = Array.from(mesh.faces.subarray(3 * item, 3 * item + 3));
    context.beginPath();
    for (const point of corners) context.lineTo(at(seen.x[point] ?? 0), at(seen.y[point] ?? 0));
    context.closePath();
    // The thin outline closes the gaps between adjacent faces.
    context.fillStyle = paint(corners[0] ?? 0, shade(seen, mesh.faces, item));
    context.strokeStyle = context.fillStyle;
    context.fill();
    context.stroke();
  }
}
