/**
 * Requests lost over 20 deployments in a row under load, on every engine that is here (goals.md: 0).
 * Run: npm run build && npx esbuild bench/rolling.ts --bundle --platform=node --format=esm --packages=external \
 *        --outfile=dist/bench/rolling.mjs && node dist/bench/rolling.mjs [deployments]
 */
import { enginesHere } from '../test/support/engines-here.ts'
import { Installation } from '../test/support/installation.ts'
import { rollUnderLoad } from '../test/support/rolling-load.ts'

const deploys = Number(process.argv[2] ?? 20)
for (const { engine, base } of await enginesHere()) {
  const installation = new Installation({ LONGSHORE_ENGINE: engine })
  await installation.start()
  try {
    const { requests, lost } = await rollUnderLoad(installation, base, deploys, 8)
    process.stdout.write(`${engine}: ${deploys} deployments, ${requests} requests, ${lost.length} lost\n`)
    for (const why of new Set(lost)) process.stdout.write(`  ${why}\n`)
  } finally {
    await installation.dispose()
  }
}
