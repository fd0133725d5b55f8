import { getAppEnvStatus } from '../../../contract/app-env-reads.ts'
import type { AppEnv } from '../../../contract/app-envs.ts'
import { everyMs, useRead } from '../../api/queries.ts'
import { Badge } from '../../components/Badge.tsx'
import { causeOf, statusNames, statusTones } from './status-words.ts'

interface Props {
  environment: Pick<AppEnv, 'appEnvId' | 'status' | 'currentVersion'>
  /** False where the cause of a failure is not needed yet. */
  isLive?: boolean
}

/** The state of an environment in one word; one whose only version failed says so, with the cause. */
export function StatusBadge({ environment, isLive = true }: Props) {
  const { appEnvId, status, currentVersion } = environment
  const neverServed = status === 'STOPPED' && currentVersion === null
  const read = useRead(
    getAppEnvStatus,
    { appEnvId },
    { everyMs: everyMs.list, enabled: neverServed && isLive },
  )
  const failure = neverServed ? read.data?.currentDeployment?.failure : null
  if (!failure) return <Badge tone={statusTones[status]}>{statusNames[status]}</Badge>
  return (
    <span title={causeOf(failure)} style={{ whiteSpace: 'nowrap' }}>
      <Badge tone="bad">Failed</Badge> <span className="muted small">{failure.reason}</span>
    </span>
  )
}
