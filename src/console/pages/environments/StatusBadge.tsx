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

/** The state of an environment in one word. If its only version failed, the badge shows that, with the cause. */
export function StatusBadge({ environment, isLive = true }: Props) {
  const { appEnvId, status, currentVersion } = environment
  const badge = <Badge tone={statusTones[status]}>{statusNames[status]}</Badge>
  const neverServed = status === 'STOPPED' && currentVersion === null
  return neverServed && isLive ? <FirstVersion appEnvId={appEnvId} badge={badge} /> : badge
}

function FirstVersion({ appEnvId, badge }: { appEnvId: string; badge: React.ReactNode }) {
  const read = useRead(getAppEnvStatus, { appEnvId }, { everyMs: everyMs.list })
  const failure = read.data?.currentDeployment?.failure
  if (!failure) return badge
  return (
    <span title={causeOf(failure)} style={{ whiteSpace: 'nowrap' }}>
      <Badge tone="bad">Failed</Badge> <span className="muted small">{failure.reason}</span>
    </span>
  )
}
