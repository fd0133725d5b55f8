import { mkdir, realpath } from 'node:fs/promises'
import path from 'node:path'
import { yieldAlone } from '../../../pacer.ts'
import { ExpansionBudget } from '../../dockerfile/expand.ts'
import { assertFewSources, assertStageLimits, LineWords } from '../../dockerfile/line-words.ts'
import { type Instruction, type ParsedDockerfile, parseDockerfile } from '../../dockerfile/parse.ts'
import { type BuildSpec, EngineFailure } from '../../engine.ts'
import { fileFailure } from '../file-failure.ts'
import { findProgram, hostPath, resolveBase } from '../host-runtimes.ts'
import { ImagePaths } from '../image-paths.ts'
import type { ProcessImage } from '../image-store.ts'
import { removeTree } from '../remove-tree.ts'
import { type CopyOrigin, contextOrigin, readSmallFile, stageOrigin } from './context-files.ts'
import { copyIntoImage, copyTree } from './copy.ts'
import { finishedImage } from './finished-image.ts'
import { preparePython } from './python-base.ts'
import { type BuildTools, runInstruction } from './run-instruction.ts'
import { type BuildStage, inheritStage, newStage, ownValue, stageLookup } from './stage.ts'

/** Runs the Dockerfile in a private copy of the source. Throws `EngineFailure`. */
export async function buildImage(spec: BuildSpec, tools: BuildTools): Promise<ProcessImage> {
  const contextDir = await insideSource(spec.sourceDir, spec.contextDir)
  const text = spec.dockerfileContent ?? (await readDockerfile(contextDir, spec))
  const dockerfile = parseDockerfile(text)
  const context = await contextOrigin(contextDir, spec.dockerfilePath)
  try {
    return await new ImageBuild(spec, dockerfile, context, tools).run()
  } catch (error) {
    if (!(error instanceof EngineFailure)) throw error
    // A secret may have been expanded into a path or a name.
    throw new EngineFailure(error.reason, tools.log.mask(error.message), { cause: error.cause })
  }
}

async function insideSource(sourceDir: string, relative: string): Promise<string> {
  const root = await realpath(sourceDir)
  const dir = await realpath(path.join(root, relative)).catch(() => null)
  if (dir === root || dir?.startsWith(root + path.sep)) return dir
  throw new EngineFailure(
    'build step',
    `The context folder ${relative} is not in the source. Check contextDir.`,
  )
}

async function readDockerfile(contextDir: string, spec: BuildSpec): Promise<string> {
  const file = await realpath(path.join(contextDir, spec.dockerfilePath)).catch(() => null)
  const root = await realpath(spec.sourceDir)
  if (file?.startsWith(root + path.sep)) {
    const text = await readSmallFile(file)
    if (text !== null) return text
  }
  const where = spec.contextDir === '.' ? '' : ` in ${spec.contextDir}`
  throw new EngineFailure(
    'no Dockerfile',
    `There is no file ${spec.dockerfilePath}${where}. Add a Dockerfile to the source, or set dockerfilePath or customDockerfileContent on the app.`,
  )
}

class ImageBuild {
  readonly #spec: BuildSpec
  readonly #dockerfile: ParsedDockerfile
  readonly #context: CopyOrigin
  readonly #tools: BuildTools
  readonly #words: LineWords
  readonly #globalArgs: Record<string, string> = {}
  readonly #stages: BuildStage[] = []
  readonly #searchPath: string

  constructor(spec: BuildSpec, dockerfile: ParsedDockerfile, context: CopyOrigin, tools: BuildTools) {
    this.#spec = spec
    this.#dockerfile = dockerfile
    this.#context = context
    this.#tools = tools
    this.#searchPath = tools.privateRoot?.searchPath ?? hostPath()
    this.#words = new LineWords({ escapeChar: dockerfile.escapeChar, budget: new ExpansionBudget() })
  }

  async run(): Promise<ProcessImage> {
    const { instructions } = this.#dockerfile
    const lastFrom = instructions.findLastIndex(({ keyword }) => keyword === 'FROM')
    for (const [index, instruction] of instructions.entries()) {
      // Thousands of instructions do no I/O, so yield to other work in between.
      await yieldAlone()
      this.#tools.signal.throwIfAborted()
      const flags = instruction.flags.map(
        ({ name, value }) => `--${name}${value === null ? '' : `=${value}`} `,
      )
      const [text, ...more] = instruction.text.split('\n')
      this.#tools.log.say(
        `[${index + 1}/${instructions.length}] ${instruction.keyword} ${flags.join('')}${text}${more.length > 0 ? ' …' : ''}`,
      )
      await this.#carryOut(instruction, index === lastFrom).catch((error) => {
        throw fileFailure(instruction, error)
      })
    }
    for (const name of ['stages', 'step']) await removeTree(path.join(this.#tools.imageDir, name))
    return finishedImage(this.#spec, this.#stage, (name) => this.#findProgram(name))
  }

  get #stage(): BuildStage {
    return this.#stages.at(-1)!
  }

  async #carryOut(instruction: Instruction, isLastFrom: boolean): Promise<void> {
    switch (instruction.keyword) {
      case 'FROM':
        return await this.#from(instruction, isLastFrom)
      case 'ARG':
        return this.#arg(instruction)
      case 'ENV':
        return this.#env(instruction)
      case 'WORKDIR':
        return await this.#workdir(instruction)
      case 'COPY':
      case 'ADD':
        return await this.#copy(instruction)
      case 'RUN':
        return await runInstruction(instruction, this.#stage, this.#tools, this.#searchPath)
      case 'CMD':
        this.#stage.cmd = this.#command(instruction)
        return
      case 'ENTRYPOINT':
        this.#stage.entrypoint = this.#command(instruction)
        this.#stage.takesCmd = instruction.exec !== null
        // As in Docker, a new entry point discards the base image's CMD.
        if (this.#stage.cmd === this.#stage.base.cmd) this.#stage.cmd = null
        return
      case 'SHELL':
        if (!instruction.exec?.length)
          throw this.#failure(instruction, 'SHELL takes a JSON array of strings.')
        this.#stage.shell = instruction.exec
        return
      case 'ONBUILD':
        throw this.#failure(instruction, 'ONBUILD is for base images; the process engine builds none.')
      default:
        return this.#noted(instruction)
    }
  }

  async #from(instruction: Instruction, isLast: boolean): Promise<void> {
    const { line } = instruction
    const words = this.#words.split(instruction.text)
    const image = this.#words.expand(line, words[0] ?? '', (name) => ownValue(this.#globalArgs, name))
    if (words.length !== 1 && !(words.length === 3 && words[1]!.toUpperCase() === 'AS'))
      throw this.#failure(instruction, 'it has the form FROM <image> or FROM <image> AS <name>.')
    if (image === '') throw this.#failure(instruction, `${words[0]} is empty; give its ARG a value.`)
    const index = this.#stages.length
    assertStageLimits(line, index + 1, 0)
    const { imageDir, log, nodeImage, signal } = this.#tools
    const root = isLast ? path.join(imageDir, 'root') : path.join(imageDir, 'stages', String(index))
    await mkdir(root, { recursive: true })
    const paths = new ImagePaths(root, this.#tools.privateRoot)
    const name = words[2]?.toLowerCase() ?? null
    const earlier = this.#stages.find((stage) => stage.name === image.toLowerCase())
    if (!earlier) {
      const base = await resolveBase(image, line, nodeImage, this.#searchPath)
      log.say(base.note)
      const stage = newStage(index, name, base, paths)
      this.#stages.push(stage)
      // Without a root of its own, pip would install into the machine.
      if (base.runtime === 'python' && this.#tools.privateRoot) await preparePython(stage, this.#searchPath)
      return
    }
    const stage = inheritStage(index, name, earlier, paths)
    await copyTree(earlier.paths.root, root, signal)
    this.#stages.push(stage)
  }

  #arg({ line, text }: Instruction): void {
    const stage = this.#stages.at(-1)
    const globalArg = (name: string) => ownValue(this.#globalArgs, name)
    const lookup = stage ? this.#lookup() : globalArg
    for (const word of this.#words.split(text)) {
      const at = word.indexOf('=')
      const name = at < 0 ? word : word.slice(0, at)
      const fallback = at < 0 ? undefined : this.#words.expand(line, word.slice(at + 1), lookup)
      const value = ownValue(this.#spec.buildArgs, name) ?? fallback ?? (stage ? globalArg(name) : undefined)
      if (value !== undefined) (stage?.args ?? this.#globalArgs)[name] = value
    }
  }

  #env({ line, text }: Instruction): void {
    const values = this.#words.assignments(line, text, this.#lookup())
    for (const [name, value] of values) {
      this.#stage.env[name] = value
      if (this.#tools.log.mask(value) !== value)
        this.#tools.log.say(
          `warning: ENV ${name} keeps a secret build variable in the image; use a deploy variable`,
        )
    }
    assertStageLimits(line, this.#stages.length, Object.keys(this.#stage.env).length)
  }

  async #workdir({ line, text }: Instruction): Promise<void> {
    const to = this.#words.expand(line, text, this.#lookup())
    this.#stage.workdir = path.posix.resolve(this.#stage.workdir, to)
    await mkdir(this.#stage.paths.forWriting(this.#stage.workdir), { recursive: true })
  }

  async #copy(instruction: Instruction): Promise<void> {
    const { keyword, line, exec, text } = instruction
    const where = `Dockerfile line ${line}: ${keyword}`
    if (instruction.heredocs.length > 0)
      throw this.#failure(
        instruction,
        'the process engine does not write here-documents; put the text in a file.',
      )
    const words = exec ?? this.#words.split(text)
    assertFewSources(line, words.length)
    const values = words.map((word) => this.#words.expand(line, word, this.#lookup()))
    const destination = values.pop()!
    if (values.length === 0) throw this.#failure(instruction, 'it needs a source and a destination.')
    if (keyword === 'ADD') this.#assertPlainAdd(instruction, values)
    const { origin, mode } = this.#copyFlags(instruction)
    const isFolder = /(^|\/)\.{0,2}$/.test(destination)
    const absolute = path.posix.resolve(this.#stage.workdir, destination)
    await copyIntoImage({
      origin,
      sources: values,
      destination: isFolder && absolute !== '/' ? `${absolute}/` : absolute,
      paths: this.#stage.paths,
      mode,
      where,
      signal: this.#tools.signal,
    })
  }

  #assertPlainAdd(instruction: Instruction, sources: readonly string[]): void {
    for (const source of sources) {
      if (/^[a-z][a-z0-9+.-]*:\/\/|^git@/i.test(source))
        throw this.#failure(instruction, 'the process engine does not download; add the file to the source.')
      if (/\.(tar|tgz|tbz2|txz|tar\.(gz|bz2|xz|zst))$/i.test(source))
        throw this.#failure(instruction, 'the process engine does not unpack archives; COPY it and RUN tar.')
    }
  }

  #copyFlags(instruction: Instruction): { origin: CopyOrigin; mode: number | null } {
    let origin = this.#context
    let mode: number | null = null
    for (const { name, value } of instruction.flags) {
      if (name === 'from') origin = this.#stageNamed(instruction, value ?? '')
      else if (name === 'chmod' && /^[0-7]{3,4}$/.test(value ?? '')) mode = Number.parseInt(value!, 8)
      else if (name === 'chown' || name === 'link')
        this.#tools.log.say(`note: --${name} has no meaning for the process engine`)
      else throw this.#failure(instruction, `the process engine does not know --${name}=${value ?? ''}.`)
    }
    return { origin, mode }
  }

  #stageNamed(instruction: Instruction, name: string): CopyOrigin {
    const stage = this.#stages
      .slice(0, -1)
      .find((one) => one.name === name.toLowerCase() || String(one.index) === name)
    if (stage) return stageOrigin(stage.paths.root, name)
    throw new EngineFailure(
      'not supported',
      `Dockerfile line ${instruction.line}: COPY --from=${name} names no earlier stage. The process engine cannot copy out of images; LONGSHORE_ENGINE=docker can.`,
    )
  }

  #command(instruction: Instruction): string[] {
    return instruction.exec ?? [...this.#stage.shell, instruction.text]
  }

  #noted({ keyword, text }: Instruction): void {
    const notes: Record<string, string> = {
      USER: `note: runs as the platform’s user, not as ${text}`,
      HEALTHCHECK: 'note: readiness is that the port answers; HEALTHCHECK is not run',
      STOPSIGNAL: 'note: the stop signal is SIGTERM',
      VOLUME: 'note: the process engine has no volumes; the folder is part of the image',
    }
    if (notes[keyword]) this.#tools.log.say(notes[keyword])
  }

  #findProgram(name: string): string | null {
    const { env, paths } = this.#stage
    const searchPath = paths.mapPathList(env.PATH ?? this.#searchPath)
    const { privateRoot } = this.#tools
    return privateRoot ? privateRoot.find(name, searchPath, paths.root) : findProgram(name, searchPath)
  }

  #lookup() {
    return stageLookup(this.#stage, this.#searchPath)
  }

  #failure(instruction: Instruction, why: string): EngineFailure {
    return new EngineFailure(
      'build step',
      `Dockerfile line ${instruction.line}: ${instruction.keyword}: ${why}`,
    )
  }
}
