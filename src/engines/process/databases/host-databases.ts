import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import type { Writable } from 'node:stream'
import type { DatabaseVersion } from '../../../contract/databases.ts'
import type { DatabasePresetName } from '../../../contract/fields.ts'
import type { DatabaseAccess } from '../../../domain/backups/backup.ts'
import type { DatabaseAvailability, DatabasePreset } from '../../../domain/databases/presets.ts'
import { dumpTool, dumpWith, loadTool, passwordTool, toLoad } from '../../database-tools.ts'
import {
  type ContainerSpec,
  type CopySource,
  type DatabaseContainerSpec,
  type DatabaseSpec,
  EngineFailure,
  type RestoreSpec,
} from '../../engine.ts'
import { changeRedisPassword, dumpRedis, loadRedis } from '../../redis/copy.ts'
import { assertFileName, containerHome, type EngineFiles } from '../engine-files.ts'
import { findProgram, hostPath } from '../host-runtimes.ts'
import type { Bind, PrivateRoot } from '../private-root/private-root.ts'
import type { StartRequest } from '../supervisor/protocol.ts'
import {
  type DatabaseProgram,
  findDatabasePrograms,
  hostVersions,
  missingProgram,
  unprivilegedPrefix,
} from './programs.ts'
import { runDatabaseTool } from './run-tool.ts'
import { databaseStart } from './scripts.ts'

/** Where a private root has the data, and the sockets of the server for its tools. */
const folderInside = '/var/lib/database'

/** Runs managed databases as programs of this machine instead of the presets' images. */
export class HostDatabases {
  readonly #files: EngineFiles
  readonly #find: typeof findDatabasePrograms
  /** Null if this machine offers none. */
  privateRoot: PrivateRoot | null = null

  constructor(files: EngineFiles, find = findDatabasePrograms) {
    this.#files = files
    this.#find = find
  }

  /** A version is available if this machine has exactly that version's program (D4); additional ones are added. */
  async availability(preset: DatabasePreset): Promise<DatabaseAvailability> {
    const problem = await this.#problem(preset.dockerPreset)
    if (problem !== null) return { available: false, unavailableReason: problem }
    const programs = await this.#find(preset.dockerPreset)
    const here = new Map(programs.flatMap((one) => hostVersions(preset.dockerPreset, one)))
    const titles = programs.map(({ title }) => title).join(' and ')
    const listed = preset.versions.map((version): DatabaseVersion => {
      if (here.has(version.key)) return { ...version, available: true }
      const unavailableReason = `This machine has ${titles}. Install ${version.label}, choose another version, or start Longshore with LONGSHORE_ENGINE=docker.`
      return { ...version, available: false, unavailableReason }
    })
    const added = [...here.values()].filter(({ key }) => listed.every((version) => version.key !== key))
    const availability = { available: true, versions: [...listed, ...added] }
    const copies = programs.every(({ server }) => findProgram('pg_basebackup', path.dirname(server)) !== null)
    return preset.dockerPreset === 'POSTGRESQL' && !copies
      ? { ...availability, maxReplicas: 1 }
      : availability
  }

  /** Returns a line for the build log, or throws `not supported` with the reason. */
  async prepare(preset: DatabasePresetName, version: string): Promise<string> {
    const problem = await this.#problem(preset)
    if (problem !== null) throw new EngineFailure('not supported', problem)
    return `${preset} ${version}: a program of this machine runs it`
  }

  /** The start request for the supervisor. Data is on the environment's volume, or in the container's own folder. */
  async startRequest(spec: ContainerSpec, database: DatabaseSpec): Promise<StartRequest> {
    const volume = path.join(this.#files.volumes, assertFileName(spec.appEnvId), 'database')
    const program = await this.#program(database, volume)
    const prefix = (await unprivilegedPrefix(this.privateRoot !== null)) ?? []
    const hostPort = database.ports[0]!.hostPort
    const start = databaseStart(database, { server: program.server, memoryMb: spec.memoryMb, port: hostPort })
    const { privateRoot } = this
    const folder = this.#folderOf(spec, database)
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    const command = {
      argv: [...prefix, '/bin/sh', '-c', start.script, 'database', ...start.args],
      cwd: '/',
      env: {
        ...{ PATH: `${hostPath()}:/usr/sbin`, LANG: 'C.UTF-8' },
        ...{ ...start.env, LS_VOLUME: privateRoot ? folderInside : folder },
      },
    }
    const around = {
      dir: containerHome(this.#files, spec.name),
      image: null,
      host: spec.name,
      binds: this.#bindsOf(folder, program),
    }
    return {
      name: spec.name,
      podId: spec.podId,
      appEnvId: spec.appEnvId,
      ...(privateRoot ? { ...privateRoot.inside(around, command), isRooted: true } : command),
      declaredPort: hostPort,
      fixedPort: hostPort,
      memoryMb: spec.memoryMb,
      ...(start.stopSignal ? { stopSignal: start.stopSignal } : {}),
    }
  }

  /** Without a volume, data is in the container's folder, which goes with it. */
  #folderOf({ appEnvId, name }: { appEnvId: string; name: string }, { persistent }: DatabaseSpec): string {
    return persistent
      ? path.join(this.#files.volumes, assertFileName(appEnvId), 'database')
      : path.join(containerHome(this.#files, name), 'data')
  }

  #bindsOf(folder: string, { server }: DatabaseProgram): Bind[] {
    const data: Bind = { from: folder, to: folderInside, access: 'rw' }
    return [data, ...(this.privateRoot?.bindsFor(server) ?? [])]
  }

  /** Dumps a running database into `sink`. */
  async dump(
    spec: DatabaseContainerSpec,
    sink: Writable,
    signal: AbortSignal,
  ): Promise<DatabaseAccess | null> {
    const { database } = spec
    const tool = dumpTool(database, database.ports[0]!.hostPort)
    if (!tool) return dumpRedis(database, sink, signal).then(() => null)
    const around = await this.#toolOptions(spec, signal)
    return dumpWith(tool, database, (one, streams) => runDatabaseTool(one, database, streams, around), sink)
  }

  /** Replaces the data of a running database by a dump. */
  async load(
    spec: DatabaseContainerSpec,
    source: CopySource,
    restore: RestoreSpec,
    signal: AbortSignal,
  ): Promise<void> {
    const { database } = spec
    const tool = loadTool(database, database.ports[0]!.hostPort, restore)
    if (!tool) return await loadRedis(database, source, signal)
    await runDatabaseTool(
      tool,
      database,
      { input: toLoad(database, await source()) },
      await this.#toolOptions(spec, signal),
    )
  }

  async changePassword(spec: DatabaseContainerSpec, previous: string, signal: AbortSignal): Promise<void> {
    const { database } = spec
    const tool = passwordTool(database, previous, database.ports[0]!.hostPort)
    if (!tool) return await changeRedisPassword(database, previous, signal)
    await runDatabaseTool(tool, database, {}, await this.#toolOptions(spec, signal))
  }

  /** Prefers the programs that came with the server: an older version's tools may not read a newer server's data. */
  async #toolOptions(spec: DatabaseContainerSpec, signal: AbortSignal) {
    const { appEnvId, database } = spec
    const volume = path.join(this.#files.volumes, assertFileName(appEnvId), 'database')
    const program = await this.#program(database, volume)
    const { privateRoot } = this
    const binds = this.#bindsOf(this.#folderOf(spec, database), program)
    const inside = privateRoot && { privateRoot, binds }
    return { path: `${path.dirname(program.server)}:${hostPath()}`, signal, inside }
  }

  async #problem(preset: DatabasePresetName): Promise<string | null> {
    if ((await this.#find(preset)).length === 0) return missingProgram(preset)
    if (preset === 'POSTGRESQL' && (await unprivilegedPrefix()) === null) {
      return 'PostgreSQL refuses to run as root, and this kernel gives no user namespace. Start Longshore as another user, or with LONGSHORE_ENGINE=docker.'
    }
    return null
  }

  /**
   * D4: a new database runs the chosen version. Existing data keeps the version that created it, even if another one
   * has been installed since.
   */
  async #program(database: DatabaseSpec, volume: string): Promise<DatabaseProgram> {
    const { dockerPreset, version } = database
    const programs = await this.#find(dockerPreset)
    const data = path.join(volume, 'data')
    const hasData = (database.persistent || database.primary !== undefined) && existsSync(data)
    if (hasData && dockerPreset !== 'POSTGRESQL' && programs[0]) return programs[0]
    const made = hasData && dockerPreset === 'POSTGRESQL' ? majorOf(data) : null
    const found =
      made === null
        ? programs.find((one) => hostVersions(dockerPreset, one).some(([key]) => key === version))
        : programs.find((one) => one.version === made)
    if (found) return found
    if (made !== null) {
      throw new EngineFailure(
        'not supported',
        `The data was made by PostgreSQL ${made}, which this machine no longer has. Install it again.`,
      )
    }
    const titles = programs.map(({ title }) => title).join(' and ')
    throw new EngineFailure(
      'not supported',
      programs.length === 0
        ? missingProgram(dockerPreset)
        : `This machine has ${titles}, not version ${version}. Create a database of that version, or install this one.`,
    )
  }
}

function majorOf(dataDir: string): string | null {
  try {
    return readFileSync(path.join(dataDir, 'PG_VERSION'), 'utf8').trim()
  } catch {
    return null
  }
}
