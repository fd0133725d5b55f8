/**
 * Thirty operator tasks with seeded faults on a throw-away installation with the process engine; the state
 * after each is verified through the API. The agent is the model that EVAL_MODEL, EVAL_API_URL, EVAL_API_KEY and EVAL_API
 * (openai or anthropic, the format of the endpoint) name. Without one a script plays them, as a regression test.
 *
 *   npm run eval [-- K [TASK...]]
 *       K trials of each task, 5 by default
 */
import { Installation } from '../testkit/platform/installation.ts'
import { modelAgent } from './model-agent.ts'
import { reportOf } from './report.ts'
import { runTrials } from './run-trials.ts'
import { tasks } from './tasks/index.ts'
import { scriptedAgent } from './trial.ts'

const [trials = '5', ...ids] = process.argv.slice(2)
const unknown = ids.filter((id) => tasks.every((task) => task.id !== id))
if (!/^[1-9]\d?$/.test(trials) || unknown.length > 0) {
  process.stderr.write(
    `npm run eval [-- K [TASK...]]; K is 1 to 99, the tasks are ${tasks.map(({ id }) => id).join(', ')}\n`,
  )
  process.exit(2)
}
const { EVAL_MODEL: model } = process.env
const agent = model ? modelAgent(process.env) : scriptedAgent
const installation = new Installation({ LONGSHORE_ENGINE: 'process', LONGSHORE_LOG_LEVEL: 'error' })
await installation.start()
try {
  const wanted = tasks.filter(({ id }) => ids.length === 0 || ids.includes(id))
  process.stderr.write(
    `${wanted.length} tasks, ${trials} trials each, by ${model ?? 'the script (a regression test)'}\n`,
  )
  const done = await runTrials(installation, wanted, agent, Number(trials), ({ taskId, problem }) =>
    process.stderr.write(`${problem === null ? 'solved' : 'failed'} ${taskId}\n`),
  )
  process.stdout.write(`${reportOf(done)}\n`)
  process.exitCode = done.every(({ problem }) => problem === null) ? 0 : 1
} finally {
  await installation.dispose()
}
