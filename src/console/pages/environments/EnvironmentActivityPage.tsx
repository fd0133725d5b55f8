import { useAccount } from '../../shell/account.ts'
import { Timeline } from '../activity/Timeline.tsx'
import { useEnvironment } from './environment.ts'

export function EnvironmentActivityPage() {
  const { accountId } = useAccount()
  const { appEnvId } = useEnvironment()
  return <Timeline accountId={accountId} objectId={appEnvId} />
}
