import { getLogs } from '../../contract/app-env-reads.ts'
import { AppError } from '../../errors.ts'
import type { ToolContext } from './define-tool.ts'

/** How the engines announce an instruction of the Dockerfile in the build log. */
const announced = /^(?:\[(\d+\/\d+)\]|Step (\d+\/\d+) :) ([A-Z]+)\b(.*)$/
const linesRead = 100

const commands: readonly (readonly [RegExp, string])[] = [
  [
    /\b(?:npm (?:ci|i|install)|yarn(?: install)?|pnpm i(?:nstall)?|bun install|pip3? install|poetry install|uv sync|apt(?:-get)? (?:-\S+ )*install|apk add|bundle install|composer install|go mod download|cargo fetch)\b/,
    'installing packages',
  ],
  [/\b(?:run build|build|compile|tsc|make|vite|webpack)\b/, 'building the program'],
  [/\b(?:test|vitest|jest|pytest)\b/, 'running tests'],
]

const instructions: Readonly<Record<string, string>> = {
  FROM: 'fetching the base image',
  COPY: 'copying files',
  ADD: 'copying files',
  RUN: 'running a command of the Dockerfile',
}

/** What a build is doing, in our words only; null if its log does not show it. */
export async function buildStep(
  ctx: ToolContext,
  appEnvId: string,
  contentId: string,
): Promise<string | null> {
  try {
    const input = { appEnvId, contentId, type: 'BUILD', size: linesRead }
    const { logs } = await ctx.client.call(getLogs, input, { signal: ctx.signal })
    const steps = logs.map(({ message }) => announced.exec(message)).filter((step) => step !== null)
    const [, inBrackets, inWords, keyword = '', text = ''] = steps.at(-1) ?? []
    const words = keyword === 'RUN' ? commands.find(([pattern]) => pattern.test(text))?.[1] : undefined
    const what = words ?? instructions[keyword]
    return what === undefined ? null : `${what} (step ${inBrackets ?? inWords})`
  } catch (error) {
    // The step is optional; the wait goes on without it.
    if (error instanceof AppError) return null
    throw error
  }
}
