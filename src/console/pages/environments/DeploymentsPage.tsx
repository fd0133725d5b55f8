import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { type Activity, getAppEnvHistory } from '../../../contract/app-env-reads.ts'
import { redeployAppEnv } from '../../../contract/deployments.ts'
import { everyMs, useRead } from '../../api/queries.ts'
import { Badge, type Tone } from '../../components/Badge.tsx'
import { ConfirmWrite } from '../../components/ConfirmWrite.tsx'
import { Pages } from '../../components/Pages.tsx'
import { Empty, Failed, Loading } from '../../components/states.tsx'
import { type Column, Table } from '../../components/Table.tsx'
import { Time } from '../../components/Time.tsx'
import { inWords, sentenceCase } from '../../words/text.ts'
import { useEnvironment } from './environment.ts'

const tones: Record<string, Tone> = {
  DEPLOYED: 'ok',
  FAILED: 'bad',
  BUILDING: 'busy',
  DEPLOYING: 'busy',
  PENDING: 'busy',
}
const pageSize = 50

interface Row extends Activity {
  /** The start of something whose end is an entry of its own. */
  isOver: boolean
}

function rowsOf(activities: readonly Activity[]): Row[] {
  return activities.map((one, index) => {
    const isUnderWay = tones[one.status] === 'busy'
    const isSame = ({ contentId }: Activity) => contentId !== null && contentId === one.contentId
    return { ...one, isOver: isUnderWay && activities.slice(0, index).some(isSame) }
  })
}

/** History of the environment, newest first, with rollback to an earlier version. */
export function DeploymentsPage() {
  const { appEnvId, cliEnvName } = useEnvironment()
  const [offset, setOffset] = useState(0)
  const [version, setVersion] = useState<number | null>(null)
  const history = useRead(
    getAppEnvHistory,
    { appEnvId, limit: pageSize, offset },
    { everyMs: everyMs.status, keep: true },
  )
  if (history.error && !history.data) return <Failed error={history.error} hidesForbidden />
  if (!history.data) return <Loading />
  const { activities, pagination } = history.data
  return (
    <section className="panel" aria-label="Deployments">
      {activities.length === 0 && (
        <Empty title="No deployments yet">
          Deploy with <code>longshore deploy --env {cliEnvName} --dir .</code>, or let an agent do it.
        </Empty>
      )}
      {activities.length > 0 && (
        <Table
          label="History"
          columns={columns}
          rows={rowsOf(activities)}
          keyOf={({ timestamp }, index) => `${timestamp} ${index}`}
          actions={(one) =>
            one.version !== null && !one.isOver && <VersionActions entry={one} redeploy={setVersion} />
          }
        />
      )}
      <Pages offset={offset} size={pageSize} total={pagination.total} go={setOffset} />
      {version !== null && (
        <ConfirmWrite
          row={redeployAppEnv}
          input={{ appEnvId, version }}
          title={`Deploy version ${version} again?`}
          action={`Deploy version ${version}`}
          done={({ message }) => message}
          onClose={() => setVersion(null)}
        />
      )}
    </section>
  )
}

const columns: Column<Row>[] = [
  { title: 'What', kind: 'nowrap', cell: ({ activity }) => sentenceCase(activity) },
  { title: 'When', kind: 'nowrap', cell: ({ timestamp }) => <Time at={timestamp} /> },
  { title: 'Version', kind: 'number', cell: ({ version }) => <Version version={version} /> },
  {
    title: 'Result',
    cell: ({ status, isOver }) => (
      <Badge tone={isOver ? 'idle' : (tones[status] ?? 'idle')}>
        {isOver ? 'started' : status.toLowerCase()}
      </Badge>
    ),
  },
  {
    title: 'Details',
    kind: 'small',
    cell: ({ gitCommitId, details }) => (
      <>
        {gitCommitId && <code>{gitCommitId.slice(0, 12)} </code>}
        {details && inWords(details.replace(/^[a-z]+(?:[- ][a-z]+)*(?=: )/, sentenceCase))}
      </>
    ),
  },
]

function Version({ version }: { version: number | null }) {
  const { currentVersion } = useEnvironment()
  return (
    <>
      {version ?? '–'}
      {version !== null && version === currentVersion && <span className="muted"> (current)</span>}
    </>
  )
}

function VersionActions({
  entry: { version, contentId, status },
  redeploy,
}: {
  entry: Row
  redeploy: (version: number | null) => void
}) {
  const { cliEnvName: envName, currentVersion } = useEnvironment()
  if (version === null) return null
  const isCurrent = version === currentVersion
  return (
    <>
      <Link
        className="nowrap"
        to="/environments/$envName/logs"
        params={{ envName }}
        search={({ account }) => ({ account, type: 'BUILD', version: contentId ?? undefined })}
      >
        Build log
      </Link>
      {(!isCurrent || version > 1) && (
        <Link
          to="/environments/$envName/versions"
          params={{ envName }}
          search={({ account }) => ({
            account,
            from: isCurrent ? version - 1 : (currentVersion ?? undefined),
            to: version,
          })}
        >
          Compare<span className="hidden-text"> version {version}</span>
        </Link>
      )}
      {!isCurrent && (
        <button type="button" className="button compact" onClick={() => redeploy(version)}>
          {currentVersion !== null && version < currentVersion && status !== 'FAILED'
            ? 'Roll back'
            : 'Deploy again'}
        </button>
      )}
    </>
  )
}
