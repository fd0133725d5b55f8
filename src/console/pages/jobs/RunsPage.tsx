import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { type JobRunResponse, jobRunStatuses, listJobRuns } from '../../../contract/jobs.ts'
import { useKept } from '../../api/drafts.ts'
import { everyMs, useRead } from '../../api/queries.ts'
import { Badge } from '../../components/Badge.tsx'
import { Pages } from '../../components/Pages.tsx'
import { Empty, Failed, Loading, NotFound } from '../../components/states.tsx'
import { type Column, Table } from '../../components/Table.tsx'
import { Time } from '../../components/Time.tsx'
import { useEnvironment } from '../environments/environment.ts'
import { CancelRun } from './CancelRun.tsx'
import { commandWords, isActive, reasonWords, runNames, runTones } from './run-words.ts'
import { StartRunDialog } from './StartRunDialog.tsx'
import { Took } from './Took.tsx'

const pageSize = 50

/** The runs of a job, newest first and live. */
export function RunsPage() {
  const { appEnvId, isJob } = useEnvironment()
  const { status, from: offset = 0 } = useSearch({ from: '/frame/environments/$envName/runs' })
  const navigate = useNavigate({ from: '/environments/$envName/runs' })
  const [starts, setStarts] = useKept(`open run ${appEnvId}`, false)
  const [canceled, setCanceled] = useState<string | null>(null)
  const input = { appEnvId, limit: pageSize, offset, status }
  const read = useRead(listJobRuns, input, { everyMs: everyMs.status, keep: true, enabled: isJob })
  const show = (change: { status?: typeof status; from?: number }) =>
    navigate({ search: ({ account }) => ({ account, status, ...change }), replace: true })
  if (!isJob) return <NotFound />
  return (
    <section className="panel" aria-labelledby="runs">
      <header>
        <h2 id="runs">Runs</h2>
        <select
          aria-label="Status"
          value={status ?? ''}
          onChange={(event) => show({ status: (event.target.value || undefined) as typeof status })}
        >
          <option value="">Every status</option>
          {jobRunStatuses.map((one) => (
            <option key={one} value={one}>
              {runNames[one]}
            </option>
          ))}
        </select>
        <div className="actions">
          <button type="button" className="button primary" onClick={() => setStarts(true)}>
            Start a run
          </button>
        </div>
      </header>
      {read.error && !read.data && <Failed error={read.error} retry={() => read.refetch()} hidesForbidden />}
      {read.isPending && <Loading />}
      {read.data?.jobRuns.length === 0 && <NoRuns filtered={status !== undefined} />}
      {read.data && read.data.jobRuns.length > 0 && (
        <RunTable runs={read.data.jobRuns} cancel={setCanceled} />
      )}
      {read.data && (
        <Pages
          offset={offset}
          size={pageSize}
          total={read.data.pagination.total}
          go={(from) => show({ from: from || undefined })}
        />
      )}
      {starts && <StartRunDialog onClose={() => setStarts(false)} />}
      {canceled !== null && <CancelRun jobRunId={canceled} onClose={() => setCanceled(null)} />}
    </section>
  )
}

function NoRuns({ filtered }: { filtered: boolean }) {
  if (filtered) return <Empty title="No run has this status">Choose another status.</Empty>
  return <Empty title="No runs yet">A run starts one container that carries out the command and ends.</Empty>
}

const columns: Column<JobRunResponse>[] = [
  { title: 'Run', kind: 'mono', cell: (run) => <RunLink run={run} /> },
  {
    title: 'Status',
    cell: (run) => (
      <>
        <Badge tone={runTones[run.status]}>{runNames[run.status]}</Badge>{' '}
        <span className="small">{reasonWords(run)}</span>
      </>
    ),
  },
  { title: 'Created', cell: ({ createdAt }) => <Time at={createdAt} /> },
  { title: 'Took', kind: 'number', cell: (run) => <Took run={run} /> },
  { title: 'Attempt', kind: 'number', cell: ({ attempt }) => attempt },
  { title: 'Exit code', kind: 'number', cell: ({ exitCode }) => exitCode ?? '–' },
  { title: 'Command', kind: 'mono clipped', cell: ({ snapshot }) => commandWords(snapshot) },
]

function RunLink({ run: { jobRunId } }: { run: JobRunResponse }) {
  const { cliEnvName: envName } = useEnvironment()
  return (
    <Link
      to="/environments/$envName/runs/$jobRunId"
      params={{ envName, jobRunId }}
      search={({ account }) => ({ account })}
    >
      {jobRunId}
    </Link>
  )
}

function RunTable({ runs, cancel }: { runs: readonly JobRunResponse[]; cancel: (jobRunId: string) => void }) {
  return (
    <Table
      label="List of runs"
      columns={columns}
      rows={runs}
      keyOf={({ jobRunId }) => jobRunId}
      actions={(run) =>
        isActive(run) && (
          <button type="button" className="button compact" onClick={() => cancel(run.jobRunId)}>
            Cancel<span className="hidden-text"> {run.jobRunId}</span>
          </button>
        )
      }
    />
  )
}
