import { listAccounts } from '../../../contract/accounts.ts'
import { listAppEnvs } from '../../../contract/app-envs.ts'
import { listApps } from '../../../contract/apps.ts'
import type { EarlierGrant } from '../../../contract/consent.ts'
import { useRead } from '../../api/queries.ts'
import { Checkbox } from '../../components/Checkbox.tsx'
import { Field } from '../../components/Field.tsx'

/** The objects that the agent is limited to. All null: everything that the person may use. */
export interface AccessScope {
  account: string | null
  app: string | null
  /** Ids; null: not limited to some. */
  environments: readonly string[] | null
}
export const everything: AccessScope = { account: null, app: null, environments: null }

/** The inverse of `grantedScope`. */
export function accessScope({ account, app, env, environments }: EarlierGrant['pin']): AccessScope {
  return { account, app, environments: environments ?? (env === null ? null : [env]) }
}

/** A single environment is one that calls need not name. */
export function grantedScope({ account, app, environments }: AccessScope): EarlierGrant['pin'] {
  const [env = null, ...more] = environments ?? []
  return more.length === 0
    ? { account, app, env, environments: null }
    : { account, app, env: null, environments: [...environments!] }
}

/** An account, and in it an app or some environments; default everything that the person reaches. */
export function ScopeFields({ scope, set }: { scope: AccessScope; set: (scope: AccessScope) => void }) {
  const accounts = useRead(listAccounts, {}).data?.accounts ?? []
  return (
    <>
      <Field label="Where" name="account">
        {(props) => (
          <select
            {...props}
            value={scope.account ?? ''}
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
      {scope.account !== null && <WithinAccount account={scope.account} scope={scope} set={set} />}
    </>
  )
}

interface WithinProps {
  account: string
  scope: AccessScope
  set: (scope: AccessScope) => void
}

function WithinAccount({ account, scope, set }: WithinProps) {
  const apps = useRead(listApps, { accountId: account }).data?.apps ?? []
  const choose = (choice: string) =>
    set({
      account,
      app: choice.startsWith('app_') ? choice : null,
      environments: choice === 'environments' ? [] : null,
    })
  return (
    <>
      <Field label="In this account" name="env">
        {(props) => (
          <select
            {...props}
            value={scope.environments ? 'environments' : (scope.app ?? '')}
            onChange={({ target }) => choose(target.value)}
          >
            <option value="">All its apps and environments</option>
            <option value="environments">Only some environments</option>
            <optgroup label="Only one app">
              {apps.map(({ appId, name }) => (
                <option key={appId} value={appId}>
                  {name}
                </option>
              ))}
            </optgroup>
          </select>
        )}
      </Field>
      {scope.environments !== null && (
        <Environments
          account={account}
          chosen={scope.environments}
          set={(environments) => set({ account, app: null, environments })}
        />
      )}
    </>
  )
}

function Environments({
  account,
  chosen,
  set,
}: {
  account: string
  chosen: readonly string[]
  set: (chosen: string[]) => void
}) {
  const { data } = useRead(listAppEnvs, { accountId: account })
  const ids = data?.appEnvs.map(({ appEnvId }) => appEnvId) ?? []
  return (
    <fieldset>
      <legend>Environments it may use</legend>
      {data?.appEnvs.map(({ appEnvId, cliEnvName }) => (
        <Checkbox
          key={appEnvId}
          checked={chosen.includes(appEnvId)}
          set={(on) => set(ids.filter((id) => (id === appEnvId ? on : chosen.includes(id))))}
        >
          {cliEnvName}
        </Checkbox>
      ))}
      {data?.appEnvs.length === 0 && <p className="muted small">This account has no environments yet.</p>}
    </fieldset>
  )
}
