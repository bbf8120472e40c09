/** A mesh seen from a side: where its points fall, and which faces lie behind others. */

import { DEFAULTS, type Turn } from "../generated/vocabulary";

export type { Turn };

export const FRONT: Turn = DEFAULTS.turn;

export interface Projected {
  /** From -1 to 1 across the drawing, y downwards, at the zoom 1. */
  x: Float32Array;
  y: Float32Array;
  /** The larger, the nearer. */
  depth: Float32Array;
}

/** Turned by so much; one cannot tip over. */
export function turnBy(turn: Turn, around: number, up: number, zoom = 1): Turn {
  const limit = Math.PI / 2;
  return {
    around: turn.around + around,
    up: Math.min(limit, Math.max(-limit, turn.up + up)),
    zoom: Math.min(20, Math.max(0.2, turn.zoom * zoom)),
  };
}

/** The centre and the half size of points; what is not finite does not count. */
function measure(vertices: Float32Array): { centre: [number, number, number]; size: number } {
  const low = [Infinity, Infinity, Infinity];
  const high = [-Infinity, -Infinity, -Infinity];
  for (let place = 0; place < vertices.length; place++) {
    const value = vertices[place] as number;
    if (!Number.isFinite(value)) continue;
    const axis = place % 3;
    if (value < (low[axis] as number)) low[axis] = value;
    if (value > (high[axis] as number)) high[axis] = value;
  }
  const sides = [0, 1, 2].map((axis) => (high[axis] as number) - (low[axis] as number));
  const centre = [0, 1, 2].map((axis) => (low[axis] as number) + (sides[axis] as number) / 2);
  const size = Math.hypot(...sides) / 2;
  return { centre: centre as [number, number, number], size: size > 0 ? size : 1 };
}

/** Where the points of a mesh are seen, without perspective; all of it fits at any turn. */
export function project(vertices: Float32Array, turn: Turn): Projected {
  const count = Math.floor(vertices.length / 3);
  const { centre, size } = measure(vertices);
  const [ca, sa] = [Math.cos(turn.around), Math.sin(turn.around)];
  const [cu, su] = [Math.cos(turn.up), Math.sin(turn.up)];
  const scale = turn.zoom / size;
  const [x, y, depth] = [0, 0, 0].map(() => new Float32Array(count)) as [
    Float32Array,
    Float32Array,
    Float32Array,
  ];
  for (let point = 0; point < count; point++) {
    const px = (vertices[3 * point] as number) - centre[0];
    const py = (vertices[3 * point + 1] as number) - centre[1];
    const pz = (vertices[3 * point + 2] as number) - centre[2];
    const back = pz * ca - px * sa;
    x[point] = (px * ca + pz * sa) * scale;
    y[point] = -(py * cu - back * su) * scale;
    depth[point] = (py * su + back * cu) * scale;
  }
  return { x, y, depth };
}

/** The numbers of faces (or of points, without any), those that lie behind first. */
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
  return order.sort((one, other) => (depths[one] as number) - (depths[other] as number));
}

function faceAt(faces: Int32Array, face: number, corner: number): number {
  return faces[3 * face + corner] as number;
}

/** How bright a face is, from 0.35 to 1: the more it looks at the one who looks, the brighter. */
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
