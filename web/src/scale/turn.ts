/** Projection of a mesh: positions of its points, and the drawing order of its faces. */

import { DEFAULTS, type Turn } from "../generated/vocabulary";

export type { Turn };

export const FRONT: Turn = DEFAULTS.turn;

export interface Projected {
  /** From -1 to 1 across the drawing at zoom 1, with y pointing down. */
  x: Float32Array;
  y: Float32Array;
  /** Larger is nearer. */
  depth: Float32Array;
}

/** Return the view rotated and zoomed by these amounts, within limits. */
export function turnBy(turn: Turn, around: number, up: number, zoom = 1): Turn {
  const limit = Math.PI / 2;
  return {
    around: turn.around + around,
    up: Math.min(limit, Math.max(-limit, turn.up + up)),
    zoom: Math.min(20, Math.max(0.2, turn.zoom * zoom)),
  };
}

/** Return the center and half the size of the finite points. */
function measure(vertices: Float32Array): { center: [number, number, number]; size: number } {
  const low = [Infinity, Infinity, Infinity];
  const high = [-Infinity, -Infinity, -Infinity];
  for (let index = 0; index < vertices.length; index++) {
    const value = vertices[index] as number;
    if (!Number.isFinite(value)) continue;
    const axis = index % 3;
    if (value < (low[axis] as number)) low[axis] = value;
    if (value > (high[axis] as number)) high[axis] = value;
  }
  const sides = [0, 1, 2].map((axis) => (high[axis] as number) - (low[axis] as number));
  const center = [0, 1, 2].map((axis) => (low[axis] as number) + (sides[axis] as number) / 2);
  const size = Math.hypot(...sides) / 2;
  return { center: center as [number, number, number], size: size > 0 ? size : 1 };
}

/** Project the points of a mesh without perspective, scaled to fit at any rotation. */
export function project(vertices: Float32Array, turn: Turn): Projected {
  const count = Math.floor(vertices.length / 3);
  const { center, size } = measure(vertices);
  const [ca, sa] = [Math.cos(turn.around), Math.sin(turn.around)];
  const [cu, su] = [Math.cos(turn.up), Math.sin(turn.up)];
  const scale = turn.zoom / size;
  const [x, y, depth] = [0, 0, 0].map(() => new Float32Array(count)) as [
    Float32Array,
    Float32Array,
    Float32Array,
  ];
  for (let point = 0; point < count; point++) {
    const px = (vertices[3 * point] as number) - center[0];
    const py = (vertices[3 * point + 1] as number) - center[1];
    const pz = (vertices[3 * point + 2] as number) - center[2];
    const back = pz * ca - px * sa;
    x[point] = (px * ca + pz * sa) * scale;
    y[point] = -(py * cu - back * su) * scale;
    depth[point] = (py * su + back * cu) * scale;
  }
  return { x, y, depth };
}

/** Return the indices of the faces, or of the points if there are none, farthest first. */
export function orderByDepth(seen: Projected, faces: Int32Array): Uint32Array {
  const count = faces.length ? faces.length / 3 : seen.depth.length;
  const depths = new Float32Array(count);
  for (let face = 0; face < count; face++) {
    if (!faces.length) depths[face] = seen.depth[face] as number;
    else {
      for (let corner = 0; corner < 3; corner++) {
        depths[face] = (depths[face] as number) + (seen.depth[faceAt(faces, face, corner)] ?? 0);
      }
    }
  }
  const order = Uint32Array.from(depths, (_, face) => face);
  return order.sort((a, b) => (depths[a] as number) - (depths[b] as number));
}

function faceAt(faces: Int32Array, face: number, corner: number): number {
  return faces[3 * face + corner] as number;
}

/** Return the brightness of a face from 0.35 to 1; faces towards the viewer are brightest. */
export function shade(seen: Projected, faces: Int32Array, face: number): number {
  const [a, b, c] = [0, 1, 2].map((corner) => faceAt(faces, face, corner)) as [
    number,
    number,
    number,
  ];
  const side = (from: number, to: number) =>
    [seen.x, seen.y, seen.depth].map((axis) => (axis[to] as number) - (axis[from] as number)) as [
      number,
      number,
      number,
    ];
  const [ux, uy, uz] = side(a, b);
  const [vx, vy, vz] = side(a, c);
  const normal = [uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx] as const;
  const length = Math.hypot(...normal);
  return 0.35 + 0.65 * (length > 0 ? Math.abs(normal[2]) / length : 0);
}
