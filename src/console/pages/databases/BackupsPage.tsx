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
import { ScrollArea } from '../../components/ScrollArea.tsx'
import { Empty, Failed, Loading, Problem } from '../../components/states.tsx'
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

/** Copies of the database, and the way back to one of them. */
export function BackupsPage() {
  const { isDatabase, dockerPreset } = useEnvironment()
  if (!isDatabase) return <Empty title="Not a database">This environment runs no managed database.</Empty>
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
          <Empty title="No backups">A backup is taken while the database serves, and outlives it.</Empty>
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

function BackupTable({ backups, ask }: TableProps) {
  const isAdmin = useIsAdmin(useEnvironment().accountId)
  return (
    <ScrollArea label="List of backups">
      <table>
        <thead>
          <tr>
            <th scope="col">Taken</th>
            <th scope="col">Status</th>
            <th scope="col">Version</th>
            <th scope="col" className="number">
              Size
            </th>
            {isAdmin && (
              <th scope="col">
                <span className="hidden-text">Actions</span>
              </th>
            )}
          </tr>
        </thead>
        <tbody>
          {backups.map((backup) => (
            <tr key={backup.backupId}>
              <th scope="row">
                <Time at={backup.createdAt} />
              </th>
              <td>
                <State of={backup} />
              </td>
              <td>{backup.dockerPresetVersion}</td>
              <td className="number">
                {backup.sizeBytes === null ? '–' : megabytes(backup.sizeBytes / 1_048_576)}
              </td>
              {isAdmin && (
                <td>
                  <Actions backup={backup} ask={ask} />
                </td>
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollArea>
  )
}

function Actions({ backup, ask }: { backup: BackupResponse; ask: TableProps['ask'] }) {
  return (
    <div className="row" style={{ justifyContent: 'flex-end' }}>
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
    </div>
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
      <ScrollArea label="List of restores">
        <table>
          <thead>
            <tr>
              <th scope="col">Started</th>
              <th scope="col">Status</th>
              <th scope="col">Backup taken</th>
            </tr>
          </thead>
          <tbody>
            {restores.map((restore) => (
              <tr key={restore.restoreId}>
                <th scope="row">
                  <Time at={restore.createdAt} />
                </th>
                <td>
                  <State of={restore} />
                </td>
                <td>
                  {taken.has(restore.backupId) ? (
                    <Time at={taken.get(restore.backupId)!} />
                  ) : (
                    'Of another database'
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollArea>
    </section>
  )
}
