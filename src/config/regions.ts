import { AppError } from '../errors.ts'
import { type ClusterSetting, type ConfigFile, plainCluster } from './file.ts'

type EngineChoice = 'auto' | 'process' | 'docker' | 'kubernetes'

/** A place where environments run: one instance of an engine. */
export interface RegionSetting {
  readonly region: string
  readonly engine: EngineChoice
  /** Only for the engine `kubernetes`; from the configuration file. */
  readonly cluster?: ClusterSetting
}

/**
 * The regions of the settings; a variable wins over the configuration file, which still describes the clusters.
 * `kubeconfig`: of a cluster that the file does not describe. Throws `invalid`.
 */
export function regionsOf(
  value: {
    LONGSHORE_ENGINE: EngineChoice
    LONGSHORE_REGIONS?: string | undefined
    LONGSHORE_DATABASE_URL?: string | undefined
  },
  present: Record<string, unknown>,
  file: ConfigFile | null,
  kubeconfig: string | undefined,
): readonly RegionSetting[] {
  const settingOf = (region: string, engine: EngineChoice): RegionSetting => {
    if (engine !== 'kubernetes') return { region, engine }
    const own = file?.regions?.find(({ name }) => name === region)
    return { region, engine, cluster: own?.engine === 'kubernetes' ? own : plainCluster(region, kubeconfig) }
  }
  if (file?.regions && value.LONGSHORE_REGIONS === undefined && !('LONGSHORE_ENGINE' in present)) {
    return Object.freeze(file.regions.map(fromFile))
  }
  const described = (file?.regions ?? []).map(fromFile).filter(({ cluster }) => cluster)
  if (value.LONGSHORE_REGIONS === undefined) {
    if (value.LONGSHORE_ENGINE === 'kubernetes' && described.length > 0) return Object.freeze(described)
    return [settingOf('local', value.LONGSHORE_ENGINE)]
  }
  if (value.LONGSHORE_REGIONS === 'none') {
    if (value.LONGSHORE_DATABASE_URL !== undefined) return Object.freeze([])
    throw new AppError('invalid', 'Configuration cannot be used', {
      details:
        'LONGSHORE_REGIONS: none needs LONGSHORE_DATABASE_URL, because another control plane must run the environments',
    })
  }
  const regions = value.LONGSHORE_REGIONS.split(',').map((one) => {
    const [region = '', engine = ''] = one.split('=')
    return settingOf(region, engine as EngineChoice)
  })
  const names = regions.map(({ region }) => region)
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  const problem =
    twice !== undefined
      ? `LONGSHORE_REGIONS: the region ${twice} is named twice`
      : 'LONGSHORE_ENGINE' in present
        ? 'LONGSHORE_ENGINE: leave it out when LONGSHORE_REGIONS names the engines'
        : null
  if (problem) throw new AppError('invalid', 'Configuration cannot be used', { details: problem })
  return Object.freeze(regions)
}

function fromFile(one: NonNullable<ConfigFile['regions']>[number]): RegionSetting {
  return {
    region: one.name,
    engine: one.engine,
    ...(one.engine === 'kubernetes' ? { cluster: one } : {}),
  }
}
