/** A button that opens a box below it; Escape or a click elsewhere closes it. */

import { type ReactNode, useEffect, useId, useRef, useState } from "react";
import "./menu.css";

interface Props {
  title: ReactNode;
  label?: string;
  children: (close: () => void) => ReactNode;
}

export function Menu({ title, label, children }: Props) {
  const [isOpen, setOpen] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const name = useId();
  const close = () => {
    setOpen(false);
    button.current?.focus();
  };
  useEffect(() => {
    if (!isOpen) return;
    const leave = (event: Event) => {
      if (event.target instanceof Node && !box.current?.contains(event.target)) setOpen(false);
    };
    // A click into a frame is not told here, but the frame has the focus then.
    const lose = () => {
      if (document.activeElement instanceof HTMLIFrameElement) setOpen(false);
    };
    addEventListener("pointerdown", leave);
    addEventListener("blur", lose);
    return () => {
      removeEventListener("pointerdown", leave);
      removeEventListener("blur", lose);
    };
  }, [isOpen]);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: Escape reaches it from what is inside
    <div
      className="menu"
      ref={box}
      onKeyDown={(event) => {
        if (event.key !== "Escape" || !isOpen) return;
        event.stopPropagation();
        close();
      }}
    >
      <button
        type="button"
        ref={button}
        aria-expanded={isOpen}
        aria-controls={name}
        aria-label={label}
        onClick={() => setOpen(!isOpen)}
      >
        {title}
      </button>
      {isOpen && (
        <div className="box" id={name}>
          {children(close)}
        </div>
      )}
    </div>
  );
}
