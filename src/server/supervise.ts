import { parseArgs } from 'node:util'
import { runSupervisor } from '../engines/process/supervisor/supervisor.ts'
import { AppError } from '../errors.ts'

/** `longshore supervise --home DIR`: the process that owns the containers of the process engine. */
export async function runSupervise(argv: readonly string[]): Promise<number> {
  const { values } = parseArgs({ args: [...argv], options: { home: { type: 'string' } } })
  if (!values.home) {
    throw new AppError('invalid', 'supervise needs --home', { details: 'It is started by longshore serve.' })
  }
  // Negative: it continues; 0: another supervisor already runs for this data directory.
  return (await runSupervisor({ home: values.home })) ? -1 : 0
}
