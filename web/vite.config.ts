import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

// The page goes into the package, from where `runfold serve` serves it.
export default defineConfig({
  plugins: [react()],
  build: {
    outDir: "../src/runfold/_serve/page",
    emptyOutDir: true,
    // The page's policy lets nothing be inlined.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
});
