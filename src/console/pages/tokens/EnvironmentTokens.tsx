import { useState } from 'react'
import { listAppEnvs } from '../../../contract/app-envs.ts'
import { rotateAppEnvToken } from '../../../contract/users.ts'
import { useRead } from '../../api/queries.ts'
import { ConfirmWrite } from '../../components/ConfirmWrite.tsx'
import { Empty, Failed, Loading } from '../../components/states.tsx'
import { useAccount } from '../../shell/account.ts'

/** An environment token deploys to one environment and reads it; each environment has one at a time. */
export function EnvironmentTokens({ onMade }: { onMade: (made: { title: string; token: string }) => void }) {
  const { accountId } = useAccount()
  const read = useRead(listAppEnvs, { accountId })
  const [chosen, setChosen] = useState('')
  const [confirming, setConfirming] = useState(false)
  const environments = read.data?.appEnvs ?? []
  const environment = environments.find(({ appEnvId }) => appEnvId === chosen) ?? environments[0]
  return (
    <section className="panel" aria-labelledby="environment-tokens">
      <header>
        <h2 id="environment-tokens">Environment tokens</h2>
        <span className="muted small">
          For pipelines: deploy to one environment and read it, nothing else
        </span>
      </header>
      {read.error && !read.data && <Failed error={read.error} retry={() => read.refetch()} />}
      {read.isPending && <Loading rows={2} />}
      {read.data && !environment && <Empty title="No environments yet" />}
      {environment && (
        <div className="body row">
          <select
            aria-label="Environment"
            value={environment.appEnvId}
            onChange={(event) => setChosen(event.target.value)}
          >
            {environments.map(({ appEnvId, cliEnvName }) => (
              <option key={appEnvId} value={appEnvId}>
                {cliEnvName}
              </option>
            ))}
          </select>
          <button type="button" className="button" onClick={() => setConfirming(true)}>
            Create a new token
          </button>
        </div>
      )}
      {confirming && environment && (
        <ConfirmWrite
          row={rotateAppEnvToken}
          input={{ appEnvId: environment.appEnvId }}
          title={`Create a new token of ${environment.cliEnvName}?`}
          action="Make token"
          danger
          done={({ token }) => {
            onMade({ title: `Token of ${environment.cliEnvName}`, token })
            return 'Token created. It is shown once, on this page.'
          }}
          onClose={() => setConfirming(false)}
        />
      )}
    </section>
  )
}
