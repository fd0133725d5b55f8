import { useNavigate, useSearch } from '@tanstack/react-router'
import { useDeferredValue, useState } from 'react'
import { getLogs } from '../../../contract/app-env-reads.ts'
import { everyMs, useRead } from '../../api/queries.ts'
import { Checkbox } from '../../components/Checkbox.tsx'
import { Empty, Failed, Loading } from '../../components/states.tsx'
import { useEnvironment } from './environment.ts'
import { LogLines } from './LogLines.tsx'

const pageSize = 300

/** Logs of containers, builds and jobs, with live updates and search. */
export function LogsPage() {
  const { appEnvId, isJob } = useEnvironment()
  const {
    type: wanted,
    search: find,
    version: contentId,
  } = useSearch({ from: '/frame/environments/$envName/logs' })
  const navigate = useNavigate({ from: '/environments/$envName/logs' })
  const [follows, setFollows] = useState(true)
  const type = wanted === 'BUILD' || wanted === 'JOB' ? wanted : isJob && !wanted ? 'JOB' : 'RUNTIME'
  const search = useDeferredValue(find)
  const input = { appEnvId, type, search, contentId, size: pageSize } as const
  const read = useRead(getLogs, input, { everyMs: follows ? everyMs.live : false, keep: true })
  const set = (change: { type?: string; search?: string; version?: string }) =>
    navigate({ search: (before) => ({ ...before, ...change }), replace: true })
  return (
    <section className="panel" aria-label="Logs">
      <header>
        <select aria-label="Kind of log" value={type} onChange={(event) => set({ type: event.target.value })}>
          <option value="RUNTIME">Runtime</option>
          <option value="BUILD">Builds</option>
          <option value="JOB">Job runs</option>
        </select>
        <input
          type="search"
          aria-label="Search the log"
          placeholder="Text in a line"
          maxLength={200}
          value={find ?? ''}
          onChange={(event) => set({ search: event.target.value || undefined })}
        />
        {contentId && (
          <button type="button" className="button compact" onClick={() => set({ version: undefined })}>
            Only one version: show all
          </button>
        )}
        <Checkbox className="actions" checked={follows} set={setFollows}>
          Follow
        </Checkbox>
      </header>
      {read.error && !read.data && <Failed error={read.error} hidesForbidden />}
      {read.isPending && <Loading rows={6} />}
      {read.data?.logs.length === 0 && (
        <Empty title={find ? 'No line matches' : 'No lines yet'}>
          {find ? 'Change the search or the kind of log.' : 'Output of the program appears here.'}
        </Empty>
      )}
      {read.data && read.data.logs.length > 0 && (
        <LogLines
          key={JSON.stringify(input)}
          input={input}
          newest={read.data.logs}
          cursor={read.data.cursor}
          follows={follows}
        />
      )}
    </section>
  )
}
