import { execFile } from 'node:child_process'
import { existsSync, lstatSync, mkdirSync, realpathSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import path from 'node:path'
import { EngineFailure } from '../../engine.ts'
import { findProgram, hostPath } from '../host-runtimes.ts'
import { removeTree } from '../remove-tree.ts'
import { copyFolders, type RootBase, refreshBase, writeBase } from './base.ts'
import { program } from './program.ts'

/** Numbers of unshare, mount, umount2, pivot_root, prctl, capset and sethostname. */
const systemCalls: Partial<Record<NodeJS.Architecture, string>> = {
  x64: '272,165,166,155,157,126,170',
  arm64: '97,40,39,41,167,91,161',
}

const standardPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

interface Command {
  argv: readonly string[]
  /** Path inside. */
  cwd: string
  env: Readonly<Record<string, string>>
}

export interface Bind {
  from: string
  to: string
  access: 'ro' | 'rw'
}

interface RootSpec {
  /** Private folder of the container or step: holds what it writes, and its name as HOME identifies its processes. */
  dir: string
  /** File tree of the image; null for a database, which has none. */
  image: string | null
  /** A build step writes into the image's tree, everything else into `dir`. */
  isBuild?: boolean
  binds?: readonly Bind[]
  /** Host name of a container; the machine's if absent. */
  host?: string
}

/**
 * A root of its own for every build step, container and database tool: the machine's programs, read-only, below the
 * image; own processes, `/tmp`, `/dev` and `/proc`; no user folders, no data directory, no sockets. The network is
 * shared. (docs/decisions/private-root.md)
 */
export class PrivateRoot {
  readonly mode: 'root' | 'user'
  /** PATH inside. */
  readonly searchPath: string
  /** Its own files, and temporary folders of tools. */
  readonly dir: string
  readonly #base: RootBase
  readonly #perl: string
  readonly #calls: string
  /** Programs that are outside of the folders of programs, such as a Node in a user folder. */
  readonly #extra: string[]

  private constructor(dir: string, perl: string, calls: string) {
    this.mode = process.getuid?.() === 0 ? 'root' : 'user'
    this.dir = dir
    this.#perl = perl
    this.#calls = calls
    this.#base = writeBase(path.join(dir, 'base'))
    if (this.mode === 'user') copyFolders(this.#base, path.join(dir, 'folders'))
    mkdirSync(path.join(dir, 'mount'), { recursive: true })
    writeFileSync(this.#file, program)
    this.#extra = [runtimeFolder(process.execPath)].filter((folder) => !this.isVisible(folder))
    const machinePath = hostPath()
      .split(':')
      .filter((entry) => this.isVisible(entry))
    this.searchPath = [...new Set([...machinePath, ...standardPath.split(':')])].join(':')
  }

  /** Tries a root below `dir`; returns the reason if this machine offers none. */
  static async probe(dir: string): Promise<PrivateRoot | string> {
    const calls = systemCalls[process.arch]
    const perl = findProgram('perl', `${hostPath()}:/usr/bin`)
    if (process.platform !== 'linux' || calls === undefined)
      return `${process.platform} ${process.arch} has no support`
    if (perl === null) return 'perl is not installed'
    mkdirSync(dir, { recursive: true })
    const root = new PrivateRoot(dir, perl, calls)
    const trial = path.join(dir, `trial-${process.pid}`)
    const { argv, env } = root.inside({ dir: trial, image: null }, { argv: ['/bin/true'], cwd: '/', env: {} })
    const problem = await new Promise<string | null>((resolve) => {
      execFile(argv[0]!, argv.slice(1), { env, cwd: '/', timeout: 10_000 }, (error, _out, text) =>
        resolve(error ? text.trim().slice(0, 200) || 'it does not start' : null),
      )
    })
    await removeTree(trial)
    return problem ?? root
  }

  /** Whether a path of the machine has the same content inside. */
  isVisible(machinePath: string): boolean {
    const isBelow = (folder: string) => machinePath === folder || machinePath.startsWith(`${folder}/`)
    return ['/bin', '/sbin', ...this.#base.programs, ...(this.#extra ?? [])].some(isBelow)
  }

  /** Finds a program by the PATH of a container, in its image or on the machine. */
  find(name: string, searchPath: string, image: string): string | null {
    const machine = searchPath.split(':').filter((entry) => this.isVisible(entry))
    return (
      findProgram(
        name,
        searchPath
          .split(':')
          .map((entry) => path.join(image, entry))
          .join(':'),
      ) ?? findProgram(name, machine.join(':'))
    )
  }

  isFolder(containerPath: string): boolean {
    const machine = this.isVisible(containerPath) ? containerPath : path.join(this.#base.dir, containerPath)
    return lstatSync(machine, { throwIfNoEntry: false })?.isDirectory() ?? false
  }

  /** The folder of a program that is elsewhere on the machine, as a bind. */
  bindsFor(programFile: string): Bind[] {
    const folder = runtimeFolder(programFile)
    return this.isVisible(folder) ? [] : [{ from: folder, to: folder, access: 'ro' }]
  }

  /** The command to spawn, which runs `command` inside. The caller adds no variable but HOME, with the same value, and PORT. */
  inside(spec: RootSpec, command: Command): { argv: string[]; cwd: string; env: Record<string, string> } {
    refreshBase(this.#base.dir)
    const extra = this.#extra.map((folder): Bind => ({ from: folder, to: folder, access: 'ro' }))
    const binds = [...extra, ...(spec.binds ?? [])].flatMap(({ from, to, access }) => [
      'bind',
      from,
      to,
      access,
    ])
    const env = { HOME: '/root', PATH: this.searchPath, ...command.env }
    const inner = Object.entries(env).map(([name, value]) => [`LS_IN_${name}`, value])
    return {
      argv: [
        ...[this.#perl, this.#file, this.#calls, this.mode, path.join(this.dir, 'mount')],
        ...this.#overlays(spec),
        ...binds,
        ...(spec.host === undefined
          ? []
          : ['host', spec.host.slice(0, 63), path.join(this.#base.dir, 'etc/hosts')]),
        ...['--', command.cwd, ...command.argv],
      ],
      cwd: '/',
      env: { ...Object.fromEntries(inner), PATH: standardPath, HOME: spec.dir },
    }
  }

  #overlays({ dir, image, isBuild }: RootSpec): string[] {
    const folders = ['', ...this.#base.programs, ...(isBuild ? this.#base.records : [])]
    return folders.flatMap((folder) => {
      const own = image === null ? null : ownFolder(image, folder)
      const machine = folder === '' ? [this.#base.dir] : [...this.#ownFolders(folder), folder]
      const lower = [...(own && !isBuild ? [own] : []), ...machine].map(escaped).join(':')
      const name = folder === '' ? 'root' : folder.slice(1).replaceAll('/', '-')
      const upper = isBuild ? path.join(image!, folder) : path.join(dir, 'written', name)
      return ['overlay', folder || '/', lower, upper, path.join(dir, 'work', name)]
    })
  }

  /** As a plain user: the machine's folders, as this user's own, so that files can be added to them. */
  #ownFolders(folder: string): string[] {
    const own = path.join(this.dir, 'folders', folder)
    return existsSync(own) ? [own] : []
  }

  get #file(): string {
    return path.join(this.dir, 'private-root.pl')
  }
}

/** A folder of the image, null if absent. A link in its place would lead to the machine, so it is refused. */
function ownFolder(image: string, folder: string): string | null {
  let at = image
  for (const part of folder.split('/').filter(Boolean)) {
    at = path.join(at, part)
    const info = lstatSync(at, { throwIfNoEntry: false })
    if (!info) return null
    if (!info.isDirectory())
      throw new EngineFailure(
        'build step',
        `The image holds no folder at ${folder}, where the system’s programs are.`,
      )
  }
  return at
}

/** Node and its modules, or a database with its libraries; only the folder of programs if there is more around it. */
function runtimeFolder(programFile: string): string {
  const bin = path.dirname(realpathSync(programFile))
  const prefix = path.dirname(bin)
  const isHome = prefix === homedir() || path.dirname(prefix) === '/home' || path.dirname(prefix) === prefix
  const hasFiles = ['lib', 'share', 'include'].some((name) => existsSync(path.join(prefix, name)))
  return path.basename(bin) === 'bin' && hasFiles && !isHome ? prefix : bin
}

function escaped(layer: string): string {
  return layer.replace(/[\\,:]/g, '\\$&')
}
