// Bundles a TypeScript program of this repository into dist/ and runs it: runBundled('evals/run.ts', ARGS).
import { spawn } from 'node:child_process'
import path from 'node:path'
import { build } from 'esbuild'

export async function runBundled(source, args) {
  const outfile = path.join('dist', source.replace(/\.ts$/, '.mjs'))
  await build({
    entryPoints: [source],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    packages: 'external',
    target: 'node20',
    logLevel: 'warning',
  })
  spawn(process.execPath, [outfile, ...args], { stdio: 'inherit' }).once('exit', (code) =>
    process.exit(code ?? 1),
  )
}
