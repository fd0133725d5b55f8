/**
 * How functions scale and serve, on the built platform, each part by name or all:
 *
 *   cold      a request at zero against starting the same container by hand
 *   burst     200 requests at once at zero, and more than there are slots and waiting places
 *   trace     an hour of traffic at speed: container-seconds used against the least possible
 *
 *   npm run build && npm run bench -- functions [parts…] [--engines process,docker] [--runs 20] [--speed 40]
 */
import { parseArgs } from 'node:util'
import { burst } from './functions/burst.ts'
import { coldStart } from './functions/cold-start.ts'
import { engines } from './functions/fixture.ts'
import { trace } from './functions/trace.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    engines: { type: 'string', default: 'process,docker' },
    runs: { type: 'string', default: '20' },
    speed: { type: 'string', default: '40' },
  },
})
const isWanted = (part: string) => positionals.length === 0 || positionals.includes(part)

for (const here of await engines(values.engines)) {
  if (isWanted('cold')) await coldStart(here, Number(values.runs))
  if (isWanted('burst')) await burst(here)
  if (isWanted('trace')) await trace(here, Number(values.speed))
}
