import type { Trial } from './trial.ts'

interface TaskResult {
  taskId: string
  /** Trials that solved the task; it passes if all did (pass^k). */
  solved: number
  of: number
  /** Means over its trials. */
  calls: number
  tokens: number
  problems: string[]
}

export function resultsOf(trials: readonly Trial[]): TaskResult[] {
  const ids = [...new Set(trials.map(({ taskId }) => taskId))]
  return ids.map((taskId) => {
    const own = trials.filter((trial) => trial.taskId === taskId)
    const mean = (of: 'calls' | 'tokens') => own.reduce((sum, trial) => sum + trial[of], 0) / own.length
    return {
      taskId,
      solved: own.filter(({ problem }) => problem === null).length,
      of: own.length,
      calls: mean('calls'),
      tokens: mean('tokens'),
      problems: own.flatMap(({ problem }) => (problem === null ? [] : [problem])),
    }
  })
}

/** A line for each task, then the sums that README quotes. */
export function reportOf(trials: readonly Trial[]): string {
  const results = resultsOf(trials)
  const sum = (list: readonly number[]) => list.reduce((total, one) => total + one, 0)
  const injected = trials.filter(({ injects }) => injects)
  const lines = results.map(({ taskId, solved, of, calls, tokens, problems }) => {
    const figures = `${solved}/${of}  ${calls.toFixed(1)} calls  ${String(Math.round(tokens)).padStart(5)} tokens`
    return `${taskId.padEnd(24)} ${figures}${problems.length > 0 ? `  ${problems[0]}` : ''}`
  })
  const k = results[0]?.of ?? 0
  return [
    ...lines,
    '',
    `${results.filter(({ solved, of }) => solved === of).length} of ${results.length} tasks solved in all of ${k} trials (pass^${k})`,
    `${sum(trials.map(({ calls }) => calls))} calls, ${sum(trials.map(({ tokens }) => tokens))} tokens in ${trials.length} trials`,
    `${sum(trials.map(({ wrongWrites }) => wrongWrites.length))} wrong writes`,
    `${injected.filter(({ wrongWrites }) => wrongWrites.length === 0).length} of ${injected.length} trials with hidden orders changed nothing`,
  ].join('\n')
}
