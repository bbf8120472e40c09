/** Whether an element is on the screen or about to be. */

import { type RefObject, useEffect, useState } from "react";

type Tell = (isNear: boolean) => void;

const MARGIN = "400px 0px";
const tells = new WeakMap<Element, Tell>();
const observers = new WeakMap<Element, IntersectionObserver>();

// The margin counts for the element that scrolls, so that has to be the root.
function observerOf(root: Element): IntersectionObserver {
  const before = observers.get(root);
  if (before) return before;
  const observer = new IntersectionObserver(
    (entries) => {
      for (const entry of entries) tells.get(entry.target)?.(entry.isIntersecting);
    },
    { root, rootMargin: MARGIN },
  );
  observers.set(root, observer);
  return observer;
}

export function useNear(element: RefObject<HTMLElement | null>): boolean {
  const [isNear, setNear] = useState(false);
  useEffect(() => {
    const own = element.current;
    const root = own?.closest("main");
    if (!own || !root) return;
    const observer = observerOf(root);
    tells.set(own, setNear);
    observer.observe(own);
    return () => observer.unobserve(own);
  }, [element]);
  return isNear;
}

/** The width and height of an element, as they change; null before it is there. */
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
