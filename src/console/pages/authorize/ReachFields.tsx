import { listAccounts } from '../../../contract/accounts.ts'
import { listAppEnvs } from '../../../contract/app-envs.ts'
import { listApps } from '../../../contract/apps.ts'
import type { ConsentDecision } from '../../../contract/consent.ts'
import { useRead } from '../../api/queries.ts'
import { Field } from '../../components/Field.tsx'

export type Reach = ConsentDecision['pin']
export const everything: Reach = { account: null, app: null, env: null }

/** One account, app or environment that the agent is held to; default everything that the person reaches. */
export function ReachFields({ reach, set }: { reach: Reach; set: (reach: Reach) => void }) {
  const accounts = useRead(listAccounts, {}).data?.accounts ?? []
  return (
    <>
      <Field label="Where" name="account">
        {(props) => (
          <select
            {...props}
            value={reach.account ?? ''}
            onChange={({ target }) => set({ ...everything, account: target.value || null })}
          >
            <option value="">Everything you can reach</option>
            {accounts.map(({ accountId, name }) => (
              <option key={accountId} value={accountId}>
                Only the account {name}
              </option>
            ))}
          </select>
        )}
      </Field>
      {reach.account !== null && <WithinAccount account={reach.account} reach={reach} set={set} />}
    </>
  )
}

function WithinAccount({
  account,
  reach,
  set,
}: {
  account: string
  reach: Reach
  set: (reach: Reach) => void
}) {
  const apps = useRead(listApps, { accountId: account }).data?.apps ?? []
  const environments = useRead(listAppEnvs, { accountId: account }).data?.appEnvs ?? []
  const choose = (id: string) =>
    set({
      account,
      app: id.startsWith('app_') ? id : null,
      env: id.startsWith('env_') ? id : null,
    })
  return (
    <Field label="In this account" name="env">
      {(props) => (
        <select
          {...props}
          value={reach.env ?? reach.app ?? ''}
          onChange={({ target }) => choose(target.value)}
        >
          <option value="">All its apps and environments</option>
          <optgroup label="One environment">
            {environments.map(({ appEnvId, cliEnvName }) => (
              <option key={appEnvId} value={appEnvId}>
                {cliEnvName}
              </option>
            ))}
          </optgroup>
          <optgroup label="One app">
            {apps.map(({ appId, name }) => (
              <option key={appId} value={appId}>
                {name}
              </option>
            ))}
          </optgroup>
        </select>
      )}
    </Field>
  )
}
