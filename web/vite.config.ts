import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

// The page is built into the package, where `runfold serve` finds it.
export default defineConfig({
  plugins: [react()],
  build: {
    outDir: "../src/runfold/_serve/page",
    emptyOutDir: true,
    // The content security policy of the page forbids inline assets.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
});
