import type { Installation } from '../testkit/platform/installation.ts'
import type { Task } from './task.ts'
import { type Agent, runTrial, type Trial } from './trial.ts'

const atOnce = 4

/** `count` trials of each task, each with a seed and an account of its own. */
export async function runTrials(
  installation: Installation,
  tasks: readonly Task[],
  agent: Agent,
  count: number,
  ended: (trial: Trial) => void = () => {},
): Promise<Trial[]> {
  const left = tasks.flatMap((task, at) =>
    Array.from({ length: count }, (_, index) => ({ task, seed: at * 100 + index })),
  )
  const trials: Trial[] = []
  const work = async () => {
    for (let next = left.shift(); next; next = left.shift()) {
      const trial = await runTrial(installation, next.task, agent, next.seed)
      trials.push(trial)
      ended(trial)
    }
  }
  await Promise.all(Array.from({ length: atOnce }, work))
  return trials.toSorted((one, other) => order(tasks, one) - order(tasks, other))
}

const order = (tasks: readonly Task[], { taskId }: Trial) => tasks.findIndex(({ id }) => id === taskId)
