/** Hooks for an element's visibility and size. */

import { type RefObject, useEffect, useState } from "react";

type Listener = (isNear: boolean) => void;

const MARGIN = "400px 0px";
const listeners = new WeakMap<Element, Listener>();
const observers = new WeakMap<Element, IntersectionObserver>();

// The margin applies to the scrolling element, which must therefore be the root.
function observerOf(root: Element): IntersectionObserver {
  const existing = observers.get(root);
  if (existing) return existing;
  const observer = new IntersectionObserver(
    (entries) => {
      for (const entry of entries) listeners.get(entry.target)?.(entry.isIntersecting);
    },
    { root, rootMargin: MARGIN },
  );
  observers.set(root, observer);
  return observer;
}

/** Whether an element is in or near the viewport. */
export function useNear(element: RefObject<HTMLElement | null>): boolean {
  const [isNear, setNear] = useState(false);
  useEffect(() => {
    const own = element.current;
    const root = own?.closest("main");
    if (!own || !root) return;
    const observer = observerOf(root);
    listeners.set(own, setNear);
    observer.observe(own);
    return () => observer.unobserve(own);
  }, [element]);
  return isNear;
}

/** Return the current width and height of an element; null before it is mounted. */
export function useSize(element: RefObject<HTMLElement | null>): [number, number] | null {
  const [size, setSize] = useState<[number, number] | null>(null);
  useEffect(() => {
    const own = element.current;
    if (!own) return;
    const observer = new ResizeObserver(() => {
      const [width, height] = [own.clientWidth, own.clientHeight];
      setSize((before) =>
        before?.[0] === width && before[1] === height ? before : [width, height],
      );
    });
    observer.observe(own);
    return () => observer.disconnect();
  }, [element]);
  return size;
}
