import { AppError } from '../errors.ts'
import { type ClusterSetting, type ConfigFile, plainCluster } from './file.ts'

type EngineChoice = 'auto' | 'process' | 'docker' | 'kubernetes'

/** Where the environments of a machine region answer. */
export interface DomainSetting {
  readonly appDomain: string
  readonly functionDomain: string
  /** The port in URLs; undefined: that of the gateway. */
  readonly publicPort: number | undefined
}

/** A place where environments run: one instance of an engine. */
export interface RegionSetting {
  readonly region: string
  readonly engine: EngineChoice
  /** Only for the engine `kubernetes`; from the configuration file. */
  readonly cluster?: ClusterSetting
  /** Machine regions: those of the configuration file. */
  readonly domains?: Partial<DomainSetting>
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
    LONGSHORE_APP_DOMAIN: string
  },
  present: Record<string, unknown>,
  file: ConfigFile | null,
  kubeconfig: string | undefined,
): readonly RegionSetting[] {
  const settingOf = (region: string, engine: EngineChoice): RegionSetting => {
    const own = file?.regions?.find(({ name }) => name === region)
    if (engine !== 'kubernetes') return own ? { ...fromFile(own), engine } : { region, engine }
    const cluster =
      own?.engine === 'kubernetes' ? own : plainCluster(region, kubeconfig, value.LONGSHORE_APP_DOMAIN)
    return { region, engine, cluster }
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
  if (one.engine === 'kubernetes') return { region: one.name, engine: one.engine, cluster: one }
  const { name, engine, ...domains } = one
  return { region: name, engine, ...(Object.keys(domains).length > 0 && { domains }) }
}
