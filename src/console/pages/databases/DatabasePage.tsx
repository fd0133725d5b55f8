import { Link } from '@tanstack/react-router'
import { getAppEnvPods } from '../../../contract/app-env-reads.ts'
import { listDatabasePresets } from '../../../contract/databases.ts'
import { getAppEnvUsage } from '../../../contract/measurements.ts'
import { everyMs, useRead } from '../../api/queries.ts'
import { Fact } from '../../components/Fact.tsx'
import { Empty, Failed, Loading } from '../../components/states.tsx'
import { counted, megabytes } from '../../components/words.ts'
import { ContainerTable } from '../environments/ContainerTable.tsx'
import { useEnvironment } from '../environments/environment.ts'
import { Connection } from './Connection.tsx'

/** Connection details, settings and containers of the database. */
export function DatabasePage() {
  const { isDatabase } = useEnvironment()
  const presets = useRead(listDatabasePresets, {}, { enabled: isDatabase })
  const { dockerPreset } = useEnvironment()
  if (!isDatabase) return <Empty title="Not a database">This environment runs no managed database.</Empty>
  if (presets.error && !presets.data)
    return <Failed error={presets.error} retry={() => presets.refetch()} hidesForbidden />
  const preset = presets.data?.presets.find((one) => one.dockerPreset === dockerPreset)
  if (!preset) return <Loading rows={6} />
  return (
    <div className="stack">
      <Connection />
      <Facts preset={preset} />
      <Replicas most={preset.limits.maxReplicas} />
    </div>
  )
}

interface Preset {
  name: string
  versions: readonly { key: string; label: string }[]
}

function Facts({ preset: { name, versions } }: { preset: Preset }) {
  const { appEnvId, dockerPresetVersion, disk, withPersistence, databaseSettings } = useEnvironment()
  const usage = useRead(getAppEnvUsage, { appEnvId }, { everyMs: 60_000 })
  const version = versions.find(({ key }) => key === dockerPresetVersion)?.label ?? dockerPresetVersion
  const parameters = Object.entries(databaseSettings?.postgresql?.parameters ?? {})
  const { includedDiskMb, overageDiskMb } = usage.data ?? {}
  return (
    <section className="panel" aria-labelledby="facts">
      <header>
        <h2 id="facts">{name}</h2>
        <span className="muted small">The version stays for the life of the database.</span>
      </header>
      <div className="body">
        <dl className="facts">
          <Fact label="Version" value={version ?? '–'} />
          <Fact label="Data" value={withPersistence ? 'Kept on disk' : 'In memory only'} />
          <Fact label="Disk" value={megabytes(disk)} />
          {includedDiskMb !== undefined && (
            <Fact label="Disk included in the size" value={megabytes(includedDiskMb)} />
          )}
          {overageDiskMb !== undefined && overageDiskMb > 0 && (
            <Fact label="Disk billed in addition" value={megabytes(overageDiskMb)} />
          )}
          {parameters.map(([parameter, value]) => (
            <Fact key={parameter} label={parameter} value={String(value)} />
          ))}
        </dl>
      </div>
    </section>
  )
}

/** The first container takes writes, the others follow it. */
function Replicas({ most }: { most: number }) {
  const { appEnvId, cliEnvName: envName, containers } = useEnvironment()
  const read = useRead(getAppEnvPods, { appEnvId }, { everyMs: everyMs.status })
  const ready = read.data?.pods.filter(({ containerReady }) => containerReady).length
  return (
    <section className="panel" aria-labelledby="replicas">
      <header>
        <h2 id="replicas">Replicas</h2>
        <span className="muted small" role="status">
          {ready !== undefined && `${ready} of ${counted(containers, 'container')} ready`}
        </span>
        {most > 1 && (
          <div className="actions">
            <Link
              to="/environments/$envName/scaling"
              params={{ envName }}
              search={({ account }) => ({ account })}
              className="button"
            >
              Change the number
            </Link>
          </div>
        )}
      </header>
      <p className="body muted small">
        {most > 1
          ? `Up to ${most} containers: the first takes writes, the others follow it and answer reads.`
          : 'This database has exactly one container.'}
      </p>
      {read.error && !read.data && <Failed error={read.error} hidesForbidden />}
      {read.isPending && <Loading rows={2} />}
      {read.data && <ContainerTable pods={read.data.pods} />}
    </section>
  )
}
