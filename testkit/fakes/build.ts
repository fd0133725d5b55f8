import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import { type Clock, sleep } from '../../src/clock.ts'
import { type BuildSpec, EngineFailure } from '../../src/engines/engine.ts'

const known = /^(ADD|ARG|CMD|COPY|ENTRYPOINT|ENV|EXPOSE|FROM|LABEL|RUN|USER|WORKDIR)$/

/**
 * Plays a build: walks the Dockerfile and acts out the few shell commands that tests use in RUN
 * (`echo`, `sleep`, `exit`, `test -f`, `test ! -e`; others do nothing). Returns the text of CMD.
 */
export async function fakeBuild(
  spec: BuildSpec,
  clock: Clock,
  say: (message: string) => void,
  signal: AbortSignal,
): Promise<string> {
  const dir = path.join(spec.sourceDir, spec.contextDir)
  const text = spec.dockerfileContent ?? (await readDockerfile(path.join(dir, spec.dockerfilePath)))
  const files = await contextFiles(dir)
  const args: Record<string, string> = {}
  let command = ''
  for (const line of text.split('\n').filter((one) => one.trim() !== '')) {
    const [, keyword = '', rest = ''] = /^(\S+)\s*(.*)$/.exec(line.trim()) ?? []
    say(mask(`${keyword} ${rest}`, spec))
    if (!known.test(keyword)) throw new EngineFailure('build step', `unknown instruction: ${keyword}`)
    if (keyword === 'ARG') args[rest] = spec.buildArgs[rest] ?? ''
    if (keyword === 'CMD') command = rest
    if (keyword === 'COPY') assertCopied(rest, files)
    if (keyword !== 'RUN') continue
    for (const part of rest.split('&&')) {
      await runPart(expand(part.trim(), args), files, clock, (line) => say(mask(line, spec)), signal)
      if (signal.aborted) throw new EngineFailure('interrupted', 'The build was interrupted.')
    }
  }
  return command
}

async function runPart(
  part: string,
  files: ReadonlySet<string>,
  clock: Clock,
  say: (line: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const [command, ...words] = part.split(/\s+/)
  const fail = (code: number) => {
    throw new EngineFailure('build step', `RUN ${part} failed with exit code ${code}`)
  }
  if (command === 'echo') say(words.join(' '))
  if (command === 'sleep') await sleep(clock, Number(words[0]) * 1000, signal)
  if (command === 'exit') fail(Number(words[0]))
  if (command === 'test') {
    const isWanted = words[0] !== '!'
    if (files.has(words.at(-1)!) !== isWanted) fail(1)
  }
}

function assertCopied(rest: string, files: ReadonlySet<string>): void {
  for (const source of rest.split(/\s+/).slice(0, -1)) {
    if (source !== '.' && !files.has(source))
      throw new EngineFailure('build step', `COPY ${rest}: ${source} is not in the build context`)
  }
}

function expand(text: string, args: Readonly<Record<string, string>>): string {
  return text.replace(/\$([A-Z_]+)/g, (_all, name: string) => args[name] ?? '')
}

function mask(text: string, spec: BuildSpec): string {
  return spec.secretBuildArgs.reduce((masked, secret) => masked.replaceAll(secret, '***'), text)
}

async function readDockerfile(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch {
    throw new EngineFailure('no Dockerfile', 'There is no Dockerfile in the source.')
  }
}

async function contextFiles(dir: string): Promise<Set<string>> {
  const ignored = await readFile(path.join(dir, '.dockerignore'), 'utf8').catch(() => '')
  const names = (await readdir(dir, { recursive: true })) as string[]
  return new Set(names.filter((name) => !ignored.split('\n').includes(name)))
}
