/**
 * Generated inputs against every operation of the real platform (in this process, with the fake engine): 0
 * answers of 5xx, 0 hangs, always the shape of our errors (10,000 an operation).
 *
 *   npm run bench -- junk [runs per operation] [one operation]
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { operations } from '../src/contract/index.ts'
import { runScenario } from '../testkit/api/example-scenario.ts'
import { junkCalls } from '../testkit/api/junk-calls.ts'
import { TestPlatform } from '../testkit/platform/test-platform.ts'

const runs = Number(process.argv[2] ?? 10_000)
const only = process.argv[3]
const seed = Date.now() % 2 ** 31
const receiver = createServer((request, response) => {
  request.resume()
  response.end()
})
await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
const ingress = { host: '127.0.0.1', port: (receiver.address() as AddressInfo).port }
const platform = await TestPlatform.start({ ingress })
const played = await runScenario(platform, `http://127.0.0.1:${ingress.port}/hook`, { keeps: true })
const totals: Record<string, number> = {}
let broken = 0
console.log(`${runs} inputs for each operation, seed ${seed}`)
for (const row of operations.filter((one) => only === undefined || one.id === only)) {
  const target = { apiUrl: platform.apiUrl, token: platform.admin.token }
  const startedMs = performance.now()
  const result = await junkCalls(target, row, played, runs, seed)
  for (const [status, count] of Object.entries(result.statuses))
    totals[status] = (totals[status] ?? 0) + count
  broken += result.broken.length
  const seconds = ((performance.now() - startedMs) / 1_000).toFixed(1)
  console.log(`${row.id.padEnd(30)} ${seconds.padStart(6)} s  ${JSON.stringify(result.statuses)}`)
  for (const line of result.broken.slice(0, 3)) console.log(`  BROKEN ${line}`)
}
console.log(`in all ${JSON.stringify(totals)}; broken promises: ${broken}`)
await platform.close()
receiver.close()
process.exit(broken === 0 ? 0 : 1)
