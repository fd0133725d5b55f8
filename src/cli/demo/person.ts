import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** What a story needs to act as a person: the command of this installation. */
export interface DemoPerson {
  entry: string
  env: NodeJS.ProcessEnv
}

/** Runs `longshore` with these words; resolves to what it printed. */
export type Longshore = (...words: string[]) => Promise<string>

export function commandOf({ entry, env }: DemoPerson): Longshore {
  return async (...words) => (await run(process.execPath, [entry, ...words], { env })).stdout.trim()
}
