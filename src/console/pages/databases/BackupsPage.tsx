import { useState } from 'react'
import {
  type BackupResponse,
  backupFormats,
  createAppEnvBackup,
  deleteAppEnvBackup,
  listAppEnvBackups,
  type RestoreResponse,
  restoreAppEnvBackup,
} from '../../../contract/backups.ts'
import { everyMs, useRead, useWrite } from '../../api/queries.ts'
import { Badge, type Tone } from '../../components/Badge.tsx'
import { ConfirmWrite } from '../../components/ConfirmWrite.tsx'
import { Empty, Failed, Loading, Problem } from '../../components/states.tsx'
import { type Column, Table } from '../../components/Table.tsx'
import { Time } from '../../components/Time.tsx'
import { toast } from '../../components/toasts.tsx'
import { megabytes } from '../../components/words.ts'
import { useIsAdmin } from '../alerts/use-alerts.ts'
import { useEnvironment } from '../environments/environment.ts'

const tones: Record<BackupResponse['status'], Tone> = {
  PENDING: 'busy',
  RUNNING: 'busy',
  SUCCEEDED: 'ok',
  FAILED: 'bad',
}

interface Confirming {
  backup: BackupResponse
  action: 'restore' | 'delete'
}

/** Copies of the database or volume, and the way back to one of them. */
export function BackupsPage() {
  const { isDatabase, dockerPreset, useVolume } = useEnvironment()
  if (useVolume) return <Backups />
  if (!isDatabase)
    return <Empty title="Nothing to back up">This environment has neither a database nor a volume.</Empty>
  if (!(dockerPreset in backupFormats))
    return (
      <Empty title="No backups for this database">
        PostgreSQL, MySQL and Redis have backups. Use the database's own tools here.
      </Empty>
    )
  return <Backups />
}

function Backups() {
  const { appEnvId, accountId } = useEnvironment()
  const read = useRead(listAppEnvBackups, { accountId, appEnvId }, { everyMs: everyMs.status })
  const [confirming, setConfirming] = useState<Confirming | null>(null)
  const { backups, restores } = read.data ?? {}
  return (
    <div className="stack">
      <section className="panel" aria-labelledby="backups">
        <header>
          <h2 id="backups">Backups</h2>
          <BackUpNow />
        </header>
        {read.error && !read.data && (
          <Failed error={read.error} retry={() => read.refetch()} hidesForbidden />
        )}
        {read.isPending && <Loading />}
        {backups?.length === 0 && (
          <Empty title="No backups">A backup is taken while the environment serves, and outlives it.</Empty>
        )}
        {backups && backups.length > 0 && <BackupTable backups={backups} ask={setConfirming} />}
      </section>
      {restores && restores.length > 0 && <Restores restores={restores} backups={backups ?? []} />}
      {confirming && <Confirmation confirming={confirming} onClose={() => setConfirming(null)} />}
    </div>
  )
}

function BackUpNow() {
  const { appEnvId } = useEnvironment()
  const create = useWrite(createAppEnvBackup)
  return (
    <>
      <div className="actions">
        <button
          type="button"
          className="button primary"
          disabled={create.isPending}
          onClick={() => create.mutate({ appEnvId }, { onSuccess: ({ message }) => toast(message) })}
        >
          Back up now
        </button>
      </div>
      <Problem error={create.error} />
    </>
  )
}

function Confirmation({
  confirming: { backup, action },
  onClose,
}: {
  confirming: Confirming
  onClose: () => void
}) {
  const { appEnvId, cliEnvName } = useEnvironment()
  const { backupId } = backup
  if (action === 'delete')
    return (
      <ConfirmWrite
        row={deleteAppEnvBackup}
        input={{ backupId }}
        title="Delete this backup?"
        action="Delete backup"
        danger
        done={({ message }) => message}
        onClose={onClose}
      />
    )
  return (
    <ConfirmWrite
      row={restoreAppEnvBackup}
      input={{ appEnvId, backupId }}
      title="Replace the data with this backup?"
      action="Restore"
      danger
      typed={cliEnvName}
      done={({ message }) => message}
      onClose={onClose}
    />
  )
}

interface TableProps {
  backups: readonly BackupResponse[]
  ask: (confirming: Confirming) => void
}

const backupColumns: Column<BackupResponse>[] = [
  { title: 'Taken', cell: ({ createdAt }) => <Time at={createdAt} /> },
  { title: 'Status', cell: (backup) => <State of={backup} /> },
  { title: 'Version', cell: ({ dockerPresetVersion }) => dockerPresetVersion },
  {
    title: 'Size',
    kind: 'number',
    cell: ({ sizeBytes }) => (sizeBytes === null ? '–' : megabytes(sizeBytes / 1_048_576)),
  },
]

function BackupTable({ backups, ask }: TableProps) {
  const isAdmin = useIsAdmin(useEnvironment().accountId)
  return (
    <Table
      label="List of backups"
      columns={backupColumns}
      rows={backups}
      keyOf={({ backupId }) => backupId}
      actions={isAdmin ? (backup) => <Actions backup={backup} ask={ask} /> : undefined}
    />
  )
}

function Actions({ backup, ask }: { backup: BackupResponse; ask: TableProps['ask'] }) {
  return (
    <>
      {backup.status === 'SUCCEEDED' && (
        <button type="button" className="button compact" onClick={() => ask({ backup, action: 'restore' })}>
          Restore
        </button>
      )}
      <button
        type="button"
        className="button quiet compact"
        onClick={() => ask({ backup, action: 'delete' })}
      >
        Delete
      </button>
    </>
  )
}

function State({ of: { status, failure } }: { of: BackupResponse | RestoreResponse }) {
  return (
    <>
      <Badge tone={tones[status]}>{status.toLowerCase()}</Badge> <span className="small">{failure}</span>
    </>
  )
}

interface RestoresProps {
  restores: readonly RestoreResponse[]
  backups: readonly BackupResponse[]
}

function Restores({ restores, backups }: RestoresProps) {
  const taken = new Map(backups.map(({ backupId, createdAt }) => [backupId, createdAt]))
  return (
    <section className="panel" aria-labelledby="restores">
      <header>
        <h2 id="restores">Restores</h2>
        <span className="muted small">The last 20</span>
      </header>
      <Table
        label="List of restores"
        columns={[
          { title: 'Started', cell: ({ createdAt }) => <Time at={createdAt} /> },
          { title: 'Status', cell: (restore) => <State of={restore} /> },
          {
            title: 'Backup taken',
            cell: ({ backupId }) =>
              taken.has(backupId) ? <Time at={taken.get(backupId)!} /> : 'Of another environment',
          },
        ]}
        rows={restores}
        keyOf={({ restoreId }) => restoreId}
      />
    </section>
  )
}
