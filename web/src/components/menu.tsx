/** Button that opens a popup below it. Escape or a click elsewhere closes it. */

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
    const closeOutside = (event: Event) => {
      if (event.target instanceof Node && !box.current?.contains(event.target)) setOpen(false);
    };
    // A click inside an iframe sends no pointer event here, but moves the focus to the iframe.
    const closeForFrame = () => {
      if (document.activeElement instanceof HTMLIFrameElement) setOpen(false);
    };
    addEventListener("pointerdown", closeOutside);
    addEventListener("blur", closeForFrame);
    return () => {
      removeEventListener("pointerdown", closeOutside);
      removeEventListener("blur", closeForFrame);
    };
  }, [isOpen]);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: handles Escape for the elements inside
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
