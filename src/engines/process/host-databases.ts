import { readFileSync } from 'node:fs'
import path from 'node:path'
import type { Readable, Writable } from 'node:stream'
import type { DatabasePresetName } from '../../contract/databases.ts'
import type { DatabaseOffer } from '../../domain/database-presets.ts'
import { dumpTool, loadTool } from '../database-tools.ts'
import {
  type ContainerSpec,
  type DatabaseContainerSpec,
  type DatabaseSpec,
  EngineFailure,
} from '../engine.ts'
import { dumpRedis, loadRedis } from '../redis-copy.ts'
import {
  type DatabaseProgram,
  findDatabaseProgram,
  findPostgres,
  missingProgram,
  unprivilegedPrefix,
} from './database-programs.ts'
import { databaseStart } from './database-scripts.ts'
import { assertFileName } from './engine-files.ts'
import { findProgram, hostPath } from './host-runtimes.ts'
import type { StartRequest } from './protocol.ts'
import { runDatabaseTool } from './run-database-tool.ts'

/** Managed databases as programs of this machine, which stand in for the presets' images. */
export class HostDatabases {
  readonly #volumesDir: string

  constructor(volumesDir: string) {
    this.#volumesDir = volumesDir
  }

  async offer(preset: DatabasePresetName): Promise<DatabaseOffer> {
    const problem = await this.#problem(preset)
    if (problem !== null) return { available: false, unavailableReason: problem }
    const program = (await findDatabaseProgram(preset)) as DatabaseProgram
    const offer = { available: true, standIn: program.title }
    const copies = findProgram('pg_basebackup', path.dirname(program.server)) !== null
    return preset === 'POSTGRESQL' && !copies ? { ...offer, maxReplicas: 1 } : offer
  }

  /** Answers a line for the build log, or throws `not supported` with the reason. */
  async prepare(preset: DatabasePresetName, version: string): Promise<string> {
    const problem = await this.#problem(preset)
    if (problem !== null) throw new EngineFailure('not supported', problem)
    const program = (await findDatabaseProgram(preset)) as DatabaseProgram
    if (version.includes('pgvector')) {
      throw new EngineFailure(
        'not supported',
        'The process engine runs PostgreSQL without vector search. Choose a version without pgvector, or start Longshore with LONGSHORE_ENGINE=docker.',
      )
    }
    return `${preset} ${version}: this machine's ${program.title} stands in for it`
  }

  /** What the supervisor is to start. Data lies on the environment's volume, or in the container's own folder. */
  async startRequest(spec: ContainerSpec, database: DatabaseSpec, searchPath: string): Promise<StartRequest> {
    const volume = path.join(this.#volumesDir, assertFileName(spec.appEnvId), 'database')
    const program = await this.#program(database, volume)
    const prefix = (await unprivilegedPrefix()) ?? []
    const hostPort = database.ports[0]!.hostPort
    const start = databaseStart(database, { server: program.server, memoryMb: spec.memoryMb, port: hostPort })
    // Without a volume the script's own HOME, which the supervisor makes and removes with the container.
    const home: Record<string, string> = database.persistent ? { LS_VOLUME: volume } : {}
    const script = database.persistent ? start.script : `LS_VOLUME="$HOME"\n${start.script}`
    return {
      name: spec.name,
      podId: spec.podId,
      appEnvId: spec.appEnvId,
      contentId: spec.contentId,
      template: spec.template,
      argv: [...prefix, '/bin/sh', '-c', script, 'database', ...start.args],
      cwd: '/',
      env: { PATH: `${searchPath}:/usr/sbin`, LANG: 'C.UTF-8', ...start.env, ...home },
      declaredPort: hostPort,
      fixedPort: hostPort,
      memoryMb: spec.memoryMb,
      sharesMemory: true,
      ...(start.stopSignal ? { stopSignal: start.stopSignal } : {}),
    }
  }

  /** Copies a running database into `sink`. */
  async dump(spec: DatabaseContainerSpec, sink: Writable, signal: AbortSignal): Promise<void> {
    const { database } = spec
    const tool = dumpTool(database, database.ports[0]!.hostPort)
    if (!tool) return await dumpRedis(database, sink, signal)
    await runDatabaseTool(tool, database, { output: sink }, { path: await this.#toolPath(spec), signal })
  }

  /** Replaces the data of a running database by a copy. */
  async load(
    spec: DatabaseContainerSpec,
    source: Readable,
    mark: string,
    signal: AbortSignal,
  ): Promise<void> {
    const { database } = spec
    const tool = loadTool(database, database.ports[0]!.hostPort, mark)
    if (!tool) return await loadRedis(database, source, signal)
    await runDatabaseTool(tool, database, { input: source }, { path: await this.#toolPath(spec), signal })
  }

  /** The programs that came with the server first: a newer server's data is not for an older one's programs. */
  async #toolPath({ appEnvId, database }: DatabaseContainerSpec): Promise<string> {
    const volume = path.join(this.#volumesDir, assertFileName(appEnvId), 'database')
    const { server } = await this.#program(database, volume)
    return `${path.dirname(server)}:${hostPath()}`
  }

  async #problem(preset: DatabasePresetName): Promise<string | null> {
    if ((await findDatabaseProgram(preset)) === null) return missingProgram(preset)
    if (preset === 'POSTGRESQL' && (await unprivilegedPrefix()) === null) {
      return 'PostgreSQL refuses to run as root, and this kernel gives no user namespace. Start Longshore as another user, or with LONGSHORE_ENGINE=docker.'
    }
    return null
  }

  /** A cluster is opened only by the major version that made it (D4), also when a newer one was installed since. */
  async #program(database: DatabaseSpec, volume: string): Promise<DatabaseProgram> {
    if (database.dockerPreset !== 'POSTGRESQL') {
      const program = await findDatabaseProgram(database.dockerPreset)
      if (program) return program
      throw new EngineFailure('not supported', missingProgram(database.dockerPreset))
    }
    const found = await findPostgres()
    const made = database.persistent || database.primary ? majorOf(path.join(volume, 'data')) : null
    const wanted = made ?? Number.parseInt(database.version, 10)
    const exact = found.find((one) => one.major === wanted)
    if (exact) return exact
    if (made !== null || !found[0]) {
      throw new EngineFailure(
        'not supported',
        made === null
          ? missingProgram('POSTGRESQL')
          : `The data was made by PostgreSQL ${made}, which this machine no longer has. Install it again.`,
      )
    }
    return found[0]
  }
}

function majorOf(dataDir: string): number | null {
  try {
    return Number.parseInt(readFileSync(path.join(dataDir, 'PG_VERSION'), 'utf8'), 10)
  } catch {
    return null
  }
}
