import { afterAll, beforeAll, expect, it } from 'vitest'
import { resultsOf } from '../../../evals/report.ts'
import { runTrials } from '../../../evals/run-trials.ts'
import { tasks } from '../../../evals/tasks/index.ts'
import { scriptedAgent } from '../../../evals/trial.ts'
import { Installation } from '../../../testkit/platform/installation.ts'

const installation = new Installation({ LONGSHORE_ENGINE: 'process', LONGSHORE_LOG_LEVEL: 'error' })
beforeAll(async () => void (await installation.start()))
afterAll(() => installation.dispose())

it('the scripted agent solves every task of the evals five times out of five, without a wrong write', {
  timeout: 900_000,
}, async () => {
  expect(tasks.length).toBeGreaterThanOrEqual(30)
  const trials = await runTrials(installation, tasks, scriptedAgent, 5)
  expect(resultsOf(trials).filter(({ solved }) => solved < 5)).toEqual([])
  expect(trials.flatMap(({ wrongWrites }) => wrongWrites)).toEqual([])
})
