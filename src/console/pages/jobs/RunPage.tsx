import { Link, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { getAppEnvPods, type Pod } from '../../../contract/app-env-reads.ts'
import { getJobRun, type JobRunResponse, type SnapshotLayers } from '../../../contract/jobs.ts'
import { everyMs, useRead } from '../../api/queries.ts'
import { Badge } from '../../components/Badge.tsx'
import { Fact } from '../../components/Fact.tsx'
import { Failed, Loading, NotFound } from '../../components/states.tsx'
import { type Column, Table } from '../../components/Table.tsx'
import { Time } from '../../components/Time.tsx'
import { fieldLabel } from '../../words/fields.ts'
import { ContainerState } from '../environments/ContainerTable.tsx'
import { useEnvironment } from '../environments/environment.ts'
import { CancelRun } from './CancelRun.tsx'
import { RunOutput } from './RunOutput.tsx'
import { commandWords, isActive, reasonWords, runNames, runTones, secondsWords } from './run-words.ts'
import { jobLabel, layerNames } from './settings.ts'
import { Took } from './Took.tsx'

/** One run: status, attempts, output and settings at its start. */
export function RunPage() {
  const { jobRunId } = useParams({ from: '/frame/environments/$envName/runs/$jobRunId' })
  const { appEnvId, cliEnvName: envName } = useEnvironment()
  const [cancels, setCancels] = useState(false)
  const read = useRead(getJobRun, { jobRunId }, { everyMs: everyMs.live })
  if (read.error && !read.data) return <Failed error={read.error} hidesForbidden />
  if (!read.data) return <Loading rows={6} />
  const { jobRun, snapshotFrom } = read.data
  if (jobRun.appEnvId !== appEnvId) return <NotFound />
  return (
    <div className="stack">
      <section className="panel" aria-labelledby="run">
        <header>
          <h2 id="run" className="mono">
            {jobRunId}
          </h2>
          <Badge tone={runTones[jobRun.status]}>{runNames[jobRun.status]}</Badge>
          <div className="row actions">
            <Link
              to="/environments/$envName/runs"
              params={{ envName }}
              search={({ account }) => ({ account })}
              className="button"
            >
              All runs
            </Link>
            {isActive(jobRun) && (
              <button type="button" className="button danger" onClick={() => setCancels(true)}>
                Cancel run
              </button>
            )}
          </div>
        </header>
        <RunFacts run={jobRun} />
      </section>
      <RunOutput key={jobRunId} run={jobRun} />
      <Attempts run={jobRun} />
      <Snapshot run={jobRun} from={snapshotFrom} />
      {cancels && <CancelRun jobRunId={jobRunId} onClose={() => setCancels(false)} />}
    </div>
  )
}

function RunFacts({ run }: { run: JobRunResponse }) {
  const { createdAt, startedAt, finishedAt, exitCode, attempt, snapshot } = run
  const reason = reasonWords(run)
  return (
    <div className="body stack">
      {reason !== null && <p className="mono">{reason}</p>}
      <dl className="facts">
        <Fact label="Created" value={<Time at={createdAt} />} />
        <Fact label="Started" value={startedAt ? <Time at={startedAt} /> : '–'} />
        <Fact label="Ended" value={finishedAt ? <Time at={finishedAt} /> : '–'} />
        <Fact label="Took" value={<Took run={run} />} />
        <Fact label="Attempt" value={`${attempt} of at most ${snapshot.backoffLimit + 1}`} />
        <Fact label="Exit code" value={exitCode ?? '–'} />
      </dl>
    </div>
  )
}

const attemptColumns: Column<Pod>[] = [
  { title: 'Container', kind: 'mono', cell: ({ name }) => name },
  { title: 'Status', cell: (pod) => <ContainerState pod={pod} /> },
  { title: 'Started', cell: ({ startedAt }) => (startedAt ? <Time at={startedAt} /> : '–') },
  { title: 'Took', kind: 'number', cell: (pod) => <Took run={pod} /> },
  {
    title: 'Ended',
    cell: ({ lastTermination: end }) =>
      end ? `${end.reason}${end.reason ? ', ' : ''}exit code ${end.exitCode}` : '–',
  },
]

/** One container for each attempt. */
function Attempts({ run: { jobRunId, appEnvId, attempt } }: { run: JobRunResponse }) {
  const read = useRead(getAppEnvPods, { appEnvId, jobRunId }, { everyMs: everyMs.status })
  const pods = read.data?.pods ?? []
  return (
    <section className="panel" aria-labelledby="attempts">
      <header>
        <h2 id="attempts">Attempts</h2>
      </header>
      {read.error && !read.data && <Failed error={read.error} hidesForbidden />}
      {read.isPending && <Loading rows={1} />}
      {pods.length > 0 && (
        <Table label="List of attempts" columns={attemptColumns} rows={pods} keyOf={({ podId }) => podId} />
      )}
      {read.data && attempt === 0 && <p className="body muted">The first attempt waits for its container.</p>}
    </section>
  )
}

interface Setting {
  label: string
  value: React.ReactNode
  layer: keyof SnapshotLayers | null
}

function Snapshot({ run: { snapshot }, from }: { run: JobRunResponse; from: SnapshotLayers | undefined }) {
  const settings: Setting[] = [
    { label: jobLabel('command'), value: <code>{commandWords(snapshot)}</code>, layer: 'command' },
    { label: jobLabel('shell'), value: snapshot.shell ? '/bin/sh -lc' : 'none', layer: 'shell' },
    { label: jobLabel('workingDir'), value: snapshot.workingDir ?? 'of the image', layer: 'workingDir' },
    {
      label: jobLabel('timeoutSeconds'),
      value: secondsWords(snapshot.timeoutSeconds),
      layer: 'timeoutSeconds',
    },
    { label: jobLabel('backoffLimit'), value: snapshot.backoffLimit, layer: 'backoffLimit' },
    { label: fieldLabel('image'), value: <code>{snapshot.image}</code>, layer: null },
  ]
  return (
    <section className="panel" aria-labelledby="snapshot">
      <header>
        <h2 id="snapshot">Started with</h2>
      </header>
      <Table
        label="Settings of the run"
        columns={[
          { title: 'Setting', cell: ({ label }) => label },
          { title: 'Value', cell: ({ value }) => value },
          {
            title: 'From',
            kind: 'muted',
            cell: ({ layer }) => (layer && from ? layerNames[from[layer]] : '–'),
          },
        ]}
        rows={settings}
        keyOf={({ label }) => label}
      />
    </section>
  )
}
