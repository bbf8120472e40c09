/** Light or dark: as the system has it until one chooses; the browser remembers. */

import { useSyncExternalStore } from "react";

export const THEMES = ["system", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];

const PLACE = "runfold-theme";
const listeners = new Set<() => void>();
let current = recall();

function recall(): Theme {
  try {
    return THEMES.find((theme) => theme === localStorage.getItem(PLACE)) ?? "system";
  } catch {
    // A browser that keeps nothing.
    return "system";
  }
}

/** The style sheet says what each theme means; its build rewrites colour schemes set there only. */
export function applyTheme(): void {
  document.documentElement.dataset.theme = current;
}

export function chooseTheme(theme: Theme): void {
  current = theme;
  try {
    localStorage.setItem(PLACE, theme);
  } catch {
    // It holds for this page then.
  }
  applyTheme();
  for (const listener of listeners) listener();
}

const system = matchMedia("(prefers-color-scheme: dark)");

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  system.addEventListener("change", listener);
  return () => {
    listeners.delete(listener);
    system.removeEventListener("change", listener);
  };
}

/** Whether the page is dark just now, by choice or as the system has it. */
export function isDark(): boolean {
  return current === "system" ? system.matches : current === "dark";
}

export function useIsDark(): boolean {
  return useSyncExternalStore(subscribe, isDark);
}

export function useTheme(): Theme {
  return useSyncExternalStore(subscribe, () => current);
}
