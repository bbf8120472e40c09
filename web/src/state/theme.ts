/** Light or dark theme: the system's until the user chooses; the browser stores the choice. */

import { useSyncExternalStore } from "react";

export const THEMES = ["system", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];

const STORAGE_KEY = "runfold-theme";
const listeners = new Set<() => void>();
let current = recall();

function recall(): Theme {
  try {
    return THEMES.find((theme) => theme === localStorage.getItem(STORAGE_KEY)) ?? "system";
  } catch {
    // The browser does not allow local storage.
    return "system";
  }
}

/** Set the theme as an attribute: the CSS build handles only color schemes in the style sheet. */
export function applyTheme(): void {
  document.documentElement.dataset.theme = current;
}

export function chooseTheme(theme: Theme): void {
  current = theme;
  try {
    localStorage.setItem(STORAGE_KEY, theme);
  } catch {
    // Without local storage, the choice applies to this page only.
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

/** Whether the page is currently dark, by choice or by the system setting. */
export function isDark(): boolean {
  return current === "system" ? system.matches : current === "dark";
}

export function useIsDark(): boolean {
  return useSyncExternalStore(subscribe, isDark);
}

export function useTheme(): Theme {
  return useSyncExternalStore(subscribe, () => current);
}
