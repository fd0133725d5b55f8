import type { DatabaseSettings } from '../contract/app-envs.ts'
import { AppError } from '../errors.ts'
import type { DatabaseOffer, DatabasePreset } from './database-presets.ts'
import { maxReplicas } from './database-presets.ts'

export interface DatabaseWish {
  dockerPresetVersion?: string | undefined
  containers?: number | undefined
  disk?: number | undefined
  withPersistence?: boolean | undefined
  databaseSettings?: DatabaseSettings | undefined
}

/** D3, D4, 2.3 and the limits of section 8, for a new database and for a change alike. */
export function checkDatabase(wish: DatabaseWish, preset: DatabasePreset, offer?: DatabaseOffer): void {
  checkVersion(wish.dockerPresetVersion, preset)
  checkContainers(wish.containers, preset, maxReplicas(preset, offer))
  if ((wish.containers ?? 1) > 1 && wish.withPersistence === false) {
    throw invalid(
      'Replicas need persistence',
      'Without it a restart of the first container would empty the others too. Send containers 1, or create a database with withPersistence true.',
    )
  }
  const { minDisk, maxDisk } = preset.limits
  if (wish.disk !== undefined && (wish.disk < minDisk || wish.disk > maxDisk)) {
    throw invalid(
      `disk must be from ${minDisk} to ${maxDisk}`,
      `${preset.name} takes a disk of ${minDisk} to ${maxDisk} MB; ${wish.disk} MB was asked for.`,
    )
  }
  if (wish.withPersistence === false && preset.persistence === 'required') {
    throw invalid(
      `${preset.name} cannot run without persistence`,
      'Send withPersistence true, or leave it out.',
    )
  }
  if (wish.withPersistence === true && preset.persistence === 'none') {
    throw invalid(`${preset.name} keeps no data`, 'Send withPersistence false, or leave it out.')
  }
  checkSettings(wish.databaseSettings, preset)
}

function checkVersion(key: string | undefined, preset: DatabasePreset): void {
  if (key === undefined || preset.versions.some((known) => known.key === key)) return
  const keys = preset.versions.map((known) => known.key).join(', ')
  throw invalid(
    `${preset.name} has no version ${key}`,
    `dockerPresetVersion must be one of: ${keys}. list-database-presets shows them.`,
    'D4',
  )
}

function checkContainers(containers: number | undefined, preset: DatabasePreset, most: number): void {
  if (containers === undefined || (containers >= 1 && containers <= most)) return
  if (preset.dockerPreset === 'COUCHDB') {
    throw invalid('CouchDB runs exactly 1 container', `Send containers 1; ${containers} was asked for.`, 'D3')
  }
  throw invalid(
    `containers must be at most ${most}`,
    `${preset.name} runs at most ${most} container(s) here (limits.maxReplicas); ${containers} was asked for. Raise zClouds for more capacity.`,
  )
}

/** Memory values of PostgreSQL: one grammar only, so that nothing else ever reaches its configuration. */
const memoryValue = /^([1-9][0-9]{0,6})(kB|MB|GB)$/
const kilobytes = { kB: 1, MB: 1_024, GB: 1_048_576 } as const
/** The server's own bounds in kB; a value outside them would keep it from starting. */
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

/** The saved settings with the given parameters over them; the others stay. */
export function mergedSettings(saved: DatabaseSettings, given: DatabaseSettings): DatabaseSettings {
  if (given.postgresql === undefined) return saved
  return {
    postgresql: { parameters: { ...saved.postgresql?.parameters, ...given.postgresql.parameters } },
  }
}

function invalid(message: string, details: string, rule?: string): AppError {
  return new AppError('invalid', message, { details, ...(rule ? { rule } : {}) })
}
