// Bundles the command into dist/: one entry, code that is rarely needed in chunks loaded on first use.
import { rm } from 'node:fs/promises'
import { build } from 'esbuild'

await rm('dist', { recursive: true, force: true })
await build({
  entryPoints: { longshore: 'src/bin/longshore.ts' },
  outdir: 'dist',
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20',
  sourcemap: 'linked',
  logLevel: 'warning',
  // Native or worker-based packages, and the server side that is loaded once, stay in node_modules.
  external: ['libsql', 'dockerode', 'fastify', 'pino', 'kysely', 'yauzl', 'tar-stream', 'dockerfile-ast'],
  banner: {
    js: '#!/usr/bin/env node\nimport { createRequire as $createRequire } from "node:module";const require=$createRequire(import.meta.url);',
  },
})
