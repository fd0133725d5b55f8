import { counted } from '../../amounts.ts'
import type { DatabaseSettings } from '../../contract/app-envs.ts'
import { AppError } from '../../errors.ts'
import {
  type DatabaseAvailabilities,
  type DatabaseAvailability,
  type DatabasePreset,
  databasePresetOf,
  maxReplicas,
  offeredVersions,
  runnable,
} from './presets.ts'

interface DatabaseTask {
  containers?: number | undefined
  disk?: number | undefined
  withPersistence?: boolean | undefined
  databaseSettings?: DatabaseSettings | undefined
}

/** D3, 2.3 and the limits of databases, for new databases and for changes. */
export function checkDatabase(
  requested: DatabaseTask,
  preset: DatabasePreset,
  availability?: DatabaseAvailability,
): void {
  checkContainers(requested.containers, preset, maxReplicas(preset, availability))
  if ((requested.containers ?? 1) > 1 && requested.withPersistence === false) {
    throw invalid(
      'Replicas need persistence',
      'Without it a restart of the first container would empty the others too. Send containers 1, or create a database with withPersistence true.',
    )
  }
  const { minDisk, maxDisk } = preset.limits
  if (requested.disk !== undefined && (requested.disk < minDisk || requested.disk > maxDisk)) {
    throw invalid(
      `disk must be from ${minDisk} to ${maxDisk}`,
      `${preset.name} takes a disk of ${minDisk} to ${maxDisk} MB; ${requested.disk} MB was requested.`,
    )
  }
  if (requested.withPersistence === false && preset.persistence === 'required') {
    throw invalid(
      `${preset.name} cannot run without persistence`,
      'Send withPersistence true, or leave it out.',
    )
  }
  if (requested.withPersistence === true && preset.persistence === 'none') {
    throw invalid(`${preset.name} keeps no data`, 'Send withPersistence false, or leave it out.')
  }
  checkSettings(requested.databaseSettings, preset)
}

/** Rejects an app of a database that no engine here can run. While that is unknown, its environments are checked instead. */
export function checkRunsSomewhere(dockerPreset: string, availabilities: DatabaseAvailabilities): void {
  const preset = databasePresetOf(dockerPreset)
  const availability = availabilities.get(preset.dockerPreset)
  if (availability?.available !== false) return
  throw invalid(
    `${preset.name} cannot run in any region`,
    `${availability.unavailableReason ?? ''} What can run here: ${runnable(availabilities)}.`.trim(),
  )
}

/** D4: a new database must be able to run in its region; its version cannot change later. */
export function checkVersion(
  key: string | undefined,
  preset: DatabasePreset,
  availabilities: DatabaseAvailabilities,
): void {
  const availability = availabilities.get(preset.dockerPreset)
  if (!availability) {
    throw new AppError('unavailable', `Whether ${preset.name} can run in this region is not known yet`, {
      details: 'The engine is still checking. Try again in a few seconds.',
      retryAfterSeconds: 2,
    })
  }
  const versions = offeredVersions(preset, availability)
  const able = versions.filter(({ available }) => available)
  const keys = (able.length > 0 ? able : versions).map((known) => known.key).join(', ')
  const chosen = versions.find((known) => known.key === key)
  if (key !== undefined && !chosen) {
    throw invalid(
      `${preset.name} has no version ${key}`,
      `dockerPresetVersion must be one of: ${keys}.`,
      'D4',
    )
  }
  if (able.length === 0) {
    throw invalid(
      `${preset.name} cannot run in this region`,
      `${availability.unavailableReason ?? ''} What can run here: ${runnable(availabilities)}.`.trim(),
    )
  }
  if (chosen?.available !== false) return
  throw invalid(
    `${chosen.label} cannot run in this region`,
    `${chosen.unavailableReason ?? ''} dockerPresetVersion can be: ${keys}.`.trim(),
    'D4',
  )
}

function checkContainers(containers: number | undefined, preset: DatabasePreset, most: number): void {
  if (containers === undefined || (containers >= 1 && containers <= most)) return
  if (preset.dockerPreset === 'COUCHDB') {
    throw invalid('CouchDB runs exactly 1 container', `Send containers 1; ${containers} was requested.`, 'D3')
  }
  throw invalid(
    `containers must be at most ${most}`,
    `${preset.name} runs at most ${counted(most, 'container')} here (limits.maxReplicas); ${containers} was requested. Raise zClouds for more capacity.`,
  )
}

/** Memory values of PostgreSQL: only this grammar, so that no other text reaches its configuration. */
const memoryValue = /^([1-9][0-9]{0,6})(kB|MB|GB)$/
const kilobytes = { kB: 1, MB: 1_024, GB: 1_048_576 } as const
/** The server's own bounds in kB; it would not start with a value outside them. */
const memoryBounds = {
  work_mem: { least: 64, most: 2_147_483_647 },
  effective_cache_size: { least: 8, most: 2_147_483_647 * 8 },
} as const

function checkSettings(settings: DatabaseSettings | undefined, preset: DatabasePreset): void {
  if (settings?.postgresql === undefined) return
  if (preset.dockerPreset !== 'POSTGRESQL') {
    throw invalid(
      'databaseSettings.postgresql is for PostgreSQL only',
      `This is a ${preset.name} environment; leave databaseSettings out.`,
    )
  }
  const { parameters } = settings.postgresql
  for (const name of ['work_mem', 'effective_cache_size'] as const) {
    if (parameters[name] !== undefined) checkMemory(name, parameters[name])
  }
}

function checkMemory(name: keyof typeof memoryBounds, value: string): void {
  const [, count, unit] = memoryValue.exec(value) ?? []
  const bounds = memoryBounds[name]
  const size = Number(count) * kilobytes[unit as keyof typeof kilobytes]
  if (size >= bounds.least && size <= bounds.most) return
  throw invalid(
    `${name} must be a memory value such as 64MB`,
    `A whole number from 1 to 9999999 and one of kB, MB, GB, from ${bounds.least}kB to ${bounds.most}kB.`,
  )
}

/** The saved settings overridden by the given parameters. */
export function mergedSettings(saved: DatabaseSettings, given: DatabaseSettings): DatabaseSettings {
  if (given.postgresql === undefined) return saved
  return {
    postgresql: { parameters: { ...saved.postgresql?.parameters, ...given.postgresql.parameters } },
  }
}

function invalid(message: string, details: string, rule?: string): AppError {
  return new AppError('invalid', message, { details, ...(rule ? { rule } : {}) })
}
