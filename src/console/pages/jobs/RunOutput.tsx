import { useState } from 'react'
import { getLogs } from '../../../contract/app-env-reads.ts'
import type { JobRunResponse } from '../../../contract/jobs.ts'
import { everyMs, useRead } from '../../api/queries.ts'
import { Checkbox } from '../../components/Checkbox.tsx'
import { Empty, Failed, Loading } from '../../components/states.tsx'
import { LogLines } from '../environments/LogLines.tsx'
import { isActive } from './run-words.ts'

/** The live output of the run. */
export function RunOutput({ run }: { run: JobRunResponse }) {
  const { appEnvId, jobRunId } = run
  const [follows, setFollows] = useState(true)
  const input = { appEnvId, type: 'JOB', jobRunId, size: 300 } as const
  // Lines of an ended container may arrive a moment after its end, so an ended run is still read, less often.
  const every = isActive(run) ? everyMs.live : everyMs.list
  const read = useRead(getLogs, input, { everyMs: follows ? every : false })
  return (
    <section className="panel" aria-labelledby="output">
      <header>
        <h2 id="output">Output</h2>
        <Checkbox className="actions" checked={follows} set={setFollows}>
          Follow
        </Checkbox>
      </header>
      {read.error && !read.data && <Failed error={read.error} hidesForbidden />}
      {read.isPending && <Loading />}
      {read.data?.logs.length === 0 &&
        (isActive(run) ? (
          <Empty title="No output yet">What the run prints appears here.</Empty>
        ) : (
          <Empty title="No output">The run printed nothing.</Empty>
        ))}
      {read.data && read.data.logs.length > 0 && (
        <LogLines input={input} newest={read.data.logs} cursor={read.data.cursor} follows={follows} />
      )}
    </section>
  )
}
