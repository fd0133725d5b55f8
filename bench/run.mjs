// npm run bench -- NAME [ARGS]: bundles the bench of that name and runs it. Without a name: lists them.
import { existsSync, readdirSync } from 'node:fs'
import path from 'node:path'
import { runBundled } from '../scripts/run-bundled.mjs'

const [name = '', ...args] = process.argv.slice(2)
const source = path.join('bench', `${name}.ts`)
if (!name || !existsSync(source)) {
  const names = readdirSync('bench')
    .filter((file) => file.endsWith('.ts'))
    .map((file) => file.replace(/\.ts$/, ''))
  process.stderr.write(`npm run bench -- NAME [ARGS], where NAME is one of: ${names.join(', ')}\n`)
  process.exit(2)
}
await runBundled(source, args)
