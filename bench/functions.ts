/**
 * How functions scale and serve, on the built platform (`npm run build` first), each part by name or all:
 *   cold      a request at zero against starting the same container by hand
 *   burst     200 requests at once at zero, and more than there are slots and waiting places
 *
 * Run: npx esbuild bench/functions.ts --bundle --platform=node --format=esm --packages=external \
 *        --outfile=dist/bench/functions.mjs && node dist/bench/functions.mjs [parts…] [--engines process,docker] [--runs 20]
 */
import { parseArgs } from 'node:util'
import { engines } from './functions/bed.ts'
import { burst } from './functions/burst.ts'
import { coldStart } from './functions/cold-start.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    engines: { type: 'string', default: 'process,docker' },
    runs: { type: 'string', default: '20' },
  },
})
const asked = (part: string) => positionals.length === 0 || positionals.includes(part)

for (const here of await engines(values.engines)) {
  if (asked('cold')) await coldStart(here, Number(values.runs))
  if (asked('burst')) await burst(here)
}
