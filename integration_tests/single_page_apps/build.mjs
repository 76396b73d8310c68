import { build } from 'esbuild';
import sveltePlugin from 'esbuild-svelte';

await build({
  entryPoints: ['react.jsx', 'vue.js', 'svelte.js', 'preact.jsx', 'plain.js'],
  bundle: true,
  outdir: process.argv[2],
  jsx: 'automatic',
  conditions: ['svelte', 'browser'],
  define: { 'process.env.NODE_ENV': '"production"' },
  plugins: [sveltePlugin()],
  logLevel: 'error',
});
