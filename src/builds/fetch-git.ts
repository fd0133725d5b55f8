import { mkdir, opendir, rm, stat } from 'node:fs/promises'
import path from 'node:path'
import { type Clock, every } from '../clock.ts'
import { EngineFailure } from '../engines/engine.ts'
import { spawnChild } from '../spawn-child.ts'

/** Size limit of the repository and of its archive; the unpacked files also have the limits of uploads. */
const mostBytes = 1024 ** 3
const timeoutMs = 5 * 60_000
const mostOutput = 16 * 1024
/** Memory of one git program: some kilobytes of a repository can stand for a file of gigabytes, which git would hold. */
const mostMemory = 1024 ** 3

export interface GitSource {
  /** Host and folder of all repositories, such as `https://github.com`: set by the operator, never by a tenant. */
  baseUrl: string
  namespace: string
  repo: string
  branch: string
  /** The commit; null for the head of the branch. */
  commitId: string | null
}

interface FetchedGit {
  /** A gzip-compressed tar of the commit's files, unpacked by the rules of uploads. */
  file: string
  commitId: string
}

/**
 * Archives the files of one commit as Git hosts do, without paths marked `export-ignore`. Checks nothing out,
 * so hooks, filters, submodules and links have no effect; sends no credentials, follows no redirect and uses
 * only the protocol of `baseUrl`. Throws `EngineFailure('git')`, or the signal's reason.
 */
export async function fetchGit(
  source: GitSource,
  options: {
    workDir: string
    clock: Clock
    signal: AbortSignal
    limits?: { bytes?: number; memory?: number; timeoutMs?: number }
  },
): Promise<FetchedGit> {
  const { workDir, clock, signal, limits } = options
  const url = repositoryUrl(source)
  const folder = path.join(workDir, 'repository')
  const home = path.join(workDir, 'git-home')
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await mkdir(home, { recursive: true, mode: 0o700 })
  const file = path.join(workDir, 'repository.tgz')
  const { memory = mostMemory } = limits ?? {}
  const guard = guardSize([folder, file], { bytes: mostBytes, timeoutMs, ...limits }, clock, signal)
  const git = (args: readonly string[]) =>
    runGit([`--git-dir=${folder}`, ...args], {
      home,
      cwd: workDir,
      protocol: url.protocol,
      memory,
      signal: guard.signal,
    })
  try {
    await git(['init', '--quiet', '--bare', '--template=', '--', folder])
    const wanted = source.commitId ?? `refs/heads/${source.branch}`
    await git([
      'fetch',
      '--quiet',
      '--depth=1',
      '--no-tags',
      '--no-recurse-submodules',
      '--',
      url.href,
      wanted,
    ])
    const commitId = (await git(['rev-parse', '--verify', '--end-of-options', 'FETCH_HEAD^{commit}'])).trim()
    await git(['archive', '--format=tar.gz', `--output=${file}`, '--end-of-options', commitId])
    return { file, commitId }
  } catch (error) {
    throw guard.signal.aborted ? guard.signal.reason : translateGitError(error, source)
  } finally {
    guard.release()
    await rm(folder, { recursive: true, force: true })
    await rm(home, { recursive: true, force: true })
  }
}

/** Each segment is one plain folder name, so a tenant's name can neither leave the base URL nor become an option. */
export function repositoryUrl({
  baseUrl,
  namespace,
  repo,
}: Pick<GitSource, 'baseUrl' | 'namespace' | 'repo'>): URL {
  const segments = [...namespace.split('/'), repo.replace(/\.git$/, '')]
  for (const segment of segments) {
    if (/^[A-Za-z0-9_][A-Za-z0-9._-]{0,99}$/.test(segment) && !segment.includes('..')) continue
    throw new EngineFailure(
      'git',
      `${JSON.stringify(segment)} is not a valid name of a repository or its owner. Set gitNamespace and gitRepo to plain names.`,
    )
  }
  return new URL(`${baseUrl.replace(/\/+$/, '')}/${segments.join('/')}.git`)
}

/** Exit code of a shell when the program does not exist. */
const noProgram = 127

class GitFailed extends Error {
  readonly output: string
  /** Its exit code, or the signal that ended it. */
  readonly end: number | NodeJS.Signals | null
  constructor(output: string, end: number | NodeJS.Signals | null) {
    super('git failed')
    this.output = output
    this.end = end
  }
}

interface GitRun {
  home: string
  cwd: string
  protocol: string
  /** In bytes. */
  memory: number
  signal: AbortSignal
}

/** Its own environment, so that no configuration of the platform or machine is read. */
function gitEnvironment(home: string, protocol: string): Record<string, string> {
  const settings: Record<string, string> = {
    'protocol.allow': 'never',
    [`protocol.${protocol.replace(':', '')}.allow`]: 'always',
    'http.followRedirects': 'false',
    'core.hooksPath': '/dev/null',
    'core.fsmonitor': 'false',
    'credential.helper': '',
    'fetch.fsckObjects': 'true',
    'fetch.unpackLimit': '1',
    'gc.auto': '0',
    // Larger files are not held in memory: a repository of some kilobytes may have one of gigabytes.
    'core.bigFileThreshold': '32m',
    'pack.threads': '1',
    'submodule.recurse': 'false',
  }
  const env: Record<string, string> = {
    PATH: process.env.PATH ?? '/usr/local/bin:/usr/bin:/bin',
    HOME: home,
    LC_ALL: 'C',
    GIT_TERMINAL_PROMPT: '0',
    GIT_ASKPASS: '/bin/false',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_ATTR_NOSYSTEM: '1',
    GIT_LFS_SKIP_SMUDGE: '1',
    GIT_CONFIG_COUNT: String(Object.keys(settings).length),
  }
  for (const [index, [key, value]] of Object.entries(settings).entries()) {
    env[`GIT_CONFIG_KEY_${index}`] = key
    env[`GIT_CONFIG_VALUE_${index}`] = value
  }
  return env
}

/** The shell only sets the limit: its script contains no text of a tenant. */
const limited = 'ulimit -d "$0" 2>/dev/null; exec git "$@"'

/** Runs git in a process group of its own, because it starts helper programs. */
function runGit(args: readonly string[], { home, cwd, protocol, memory, signal }: GitRun): Promise<string> {
  const env = gitEnvironment(home, protocol)
  return new Promise((resolve, reject) => {
    signal.throwIfAborted()
    const child = spawnChild('/bin/sh', ['-c', limited, String(memory / 1024), ...args], {
      cwd,
      env,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const end = () => {
      try {
        process.kill(-child.pid!, 'SIGKILL')
      } catch {
        // Already exited.
      }
    }
    signal.addEventListener('abort', end, { once: true })
    let output = ''
    let errors = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(0, mostOutput)
    })
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      errors = (errors + text).slice(-mostOutput)
    })
    child.once('error', (cause) => {
      signal.removeEventListener('abort', end)
      reject(cause)
    })
    child.once('close', (code, endedBy) => {
      signal.removeEventListener('abort', end)
      if (code === 0) resolve(output)
      else reject(new GitFailed(errors, code ?? endedBy))
    })
  })
}

/**
 * Stops git if it takes too long or writes too much: a tree that refers to the same files many times is small in the
 * repository and huge in the archive.
 */
function guardSize(
  written: readonly string[],
  limits: { bytes: number; timeoutMs: number },
  clock: Clock,
  signal: AbortSignal,
): { signal: AbortSignal; release(): void } {
  const controller = new AbortController()
  const stop = (message: string) => controller.abort(new EngineFailure('git', message))
  const cancelTimeout = clock.after(limits.timeoutMs, () =>
    stop(
      `The repository could not be fetched within ${Math.round(limits.timeoutMs / 1000)} seconds. Deploy again.`,
    ),
  )
  const cancelSize = every(clock, 250, async () => {
    const sizes = await Promise.all(written.map(sizeOf))
    if (Math.max(...sizes) > limits.bytes)
      stop(
        `The repository is larger than ${Math.floor(limits.bytes / 1024 ** 2)} MiB. Upload what the build needs instead.`,
      )
  })
  return {
    signal: AbortSignal.any([signal, controller.signal]),
    release() {
      cancelTimeout()
      cancelSize()
    },
  }
}

async function sizeOf(target: string): Promise<number> {
  let bytes = 0
  try {
    const found = await stat(target)
    if (found.isFile()) return found.size
    for await (const entry of await opendir(target, { recursive: true })) {
      if (entry.isFile()) bytes += (await stat(path.join(entry.parentPath, entry.name))).size
    }
  } catch {
    // Files come and go while git writes; the next check finds the rest.
  }
  return bytes
}

/** Chooses our own message by git's output, but never repeats it: a host can write anything into it. */
function translateGitError(error: unknown, { namespace, repo, branch, commitId }: GitSource): unknown {
  if (!(error instanceof GitFailed)) return error
  const { output, end } = error
  const name = `${namespace}/${repo}`
  const say = (message: string) => new EngineFailure('git', message, { cause: new Error(output) })
  if (end === noProgram) return say('This machine has no git in its PATH; the operator must install it.')
  if (/out of memory|memory exhausted|cannot allocate memory/i.test(output))
    return say(`${name} has a file that takes too much memory to unpack. Keep large files elsewhere.`)
  // Git walks folders recursively: its stack is full after a few thousand.
  if (end === 'SIGSEGV' || /died of signal 11|tree depth/i.test(output))
    return say(`${name} has folders nested too deeply for git to read. Flatten them.`)
  if (typeof end === 'string')
    return say(`The machine ended git (${end}) while it read ${name}, as it does without free memory.`)
  if (/couldn't find remote ref|not our ref|unadvertised object/i.test(output))
    return say(
      commitId === null
        ? `${name} has no branch ${branch}. Set branch to one it has.`
        : `${name} has no commit ${commitId} any more. Deploy the branch again.`,
    )
  if (
    /could not read Username|Authentication failed|not found|returned error: 40[134]|does not appear to be a git|not exported/i.test(
      output,
    )
  )
    return say(
      `The Git host shows no public repository ${name}. Check gitNamespace and gitRepo; private ones cannot be fetched.`,
    )
  if (/unable to update url base from redirection|redirect/i.test(output))
    return say(`The Git host answers ${name} with a redirect, which is not followed. Use its present name.`)
  return say(`The repository ${name} could not be fetched from the Git host. Deploy again later.`)
}
