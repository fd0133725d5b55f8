// npm run eval: bundles run.ts and runs it.
import { runBundled } from '../scripts/run-bundled.mjs'

await runBundled('evals/run.ts', process.argv.slice(2))
