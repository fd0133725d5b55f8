// npm run bench -- NAME [ARGS]: bundles the bench of that name and runs it. Without a name: lists them.
import { spawn } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import path from 'node:path'
import { build } from 'esbuild'

const [name = '', ...args] = process.argv.slice(2)
const here = import.meta.dirname ?? path.dirname(new URL(import.meta.url).pathname)
const source = path.join(here, `${name}.ts`)
if (!name || !existsSync(source)) {
  const names = readdirSync(here)
    .filter((file) => file.endsWith('.ts'))
    .map((file) => file.replace(/\.ts$/, ''))
  process.stderr.write(`npm run bench -- NAME [ARGS], where NAME is one of: ${names.join(', ')}\n`)
  process.exit(2)
}
const outfile = path.join('dist', 'bench', `${name}.mjs`)
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
