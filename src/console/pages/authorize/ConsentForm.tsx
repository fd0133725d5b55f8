import { useState } from 'react'
import type { Consent, ConsentDecision, EarlierGrant } from '../../../contract/consent.ts'
import { type Scope, scopes } from '../../../contract/scopes.ts'
import { toolGroups, toolGroupWords } from '../../../contract/tool-groups.ts'
import type { AppError } from '../../../errors.ts'
import { Checkbox } from '../../components/Checkbox.tsx'
import { ChoiceField } from '../../components/ChoiceField.tsx'
import { Problem } from '../../components/states.tsx'
import { expiresAtOf, spans } from '../tokens/expiry.ts'
import { Difference, type Narrowed } from './Difference.tsx'
import { accessScope, everything, grantedScope, ScopeFields } from './ScopeFields.tsx'

interface Props {
  consent: Extract<Consent, { client: unknown }>
  error: AppError | null
  busy: boolean
  decide: (decision: Omit<ConsentDecision, 'request'>) => void
}

/** The earlier choice of the person, with what the program asks for in addition. */
function startOf({ scopes, readOnly, earlier }: Props['consent']): Narrowed {
  if (earlier === null)
    return { scopes, readOnly, scope: everything, groups: toolGroups, listsAll: false, expiry: '30' }
  return {
    scopes: scopes.filter((scope) => !earlier.declined.includes(scope)),
    readOnly: readOnly || earlier.readOnly,
    scope: accessScope(earlier.pin),
    groups: earlier.groups ?? toolGroups,
    listsAll: earlier.groups?.length === toolGroups.length,
    expiry: 'earlier',
  }
}

/** The requested permissions in words, and the inputs by which the person narrows them. */
export function ConsentForm({ consent, error, busy, decide }: Props) {
  const { earlier } = consent
  const [chosen, setChosen] = useState<Narrowed>(() => startOf(consent))
  const set = (change: Partial<Narrowed>) => setChosen((before) => ({ ...before, ...change }))
  const submit = () =>
    decide({
      approve: true,
      scopes: [...chosen.scopes],
      readOnly: chosen.readOnly,
      groups: chosen.groups.length === toolGroups.length && !chosen.listsAll ? null : [...chosen.groups],
      pin: grantedScope(chosen.scope),
      expiresAt: endOf(chosen.expiry, earlier),
      replaces: earlier?.isReplaced ? earlier.tokenId : null,
    })
  return (
    <form
      className="stack"
      onSubmit={(event) => {
        event.preventDefault()
        submit()
      }}
    >
      <Asker consent={consent} />
      {earlier && <Difference earlier={earlier} chosen={chosen} />}
      <Permissions requested={consent.scopes} chosen={chosen} set={set} readOnly={consent.readOnly} />
      <ScopeFields scope={chosen.scope} set={(scope) => set({ scope })} />
      <Groups chosen={chosen} set={set} />
      <ChoiceField
        label="Access ends"
        name="expiresAt"
        error={error}
        hint={consent.expiresAt ? `Your own token expires at ${consent.expiresAt}` : undefined}
        choices={[...(earlier ? [earlierEnd(earlier)] : []), ...spans, ['never', 'When I revoke it']]}
        value={chosen.expiry}
        set={(expiry) => set({ expiry })}
      />
      <Problem error={error} />
      <div className="row">
        <button
          type="submit"
          className="button primary"
          disabled={
            busy ||
            [chosen.scopes, chosen.groups, chosen.scope.environments].some((list) => list?.length === 0)
          }
        >
          Allow
        </button>
        <button type="button" className="button" disabled={busy} onClick={() => decide(denied)}>
          Cancel
        </button>
      </div>
    </form>
  )
}

function earlierEnd({ expiresAt }: EarlierGrant): readonly [string, string] {
  return ['earlier', expiresAt === null ? 'As before: when I revoke it' : `As before: at ${expiresAt}`]
}

function endOf(choice: string, earlier: EarlierGrant | null): string | null {
  if (choice === 'earlier') return earlier?.expiresAt ?? null
  return expiresAtOf(choice, '').expiresAt ?? null
}

const denied = {
  approve: false,
  scopes: [],
  readOnly: true,
  groups: null,
  pin: grantedScope(everything),
  expiresAt: null,
} satisfies Omit<ConsentDecision, 'request'>

function Asker({ consent: { client, returnsTo, email } }: Pick<Props, 'consent'>) {
  return (
    <>
      <p>
        <strong>{client.name}</strong> asks to use Longshore as you, <strong>{email}</strong>. Its actions are
        recorded under your name, with the name of the agent.
      </p>
      {client.verifiedHost ? (
        <p className="muted small">
          Published by <strong>{client.verifiedHost}</strong>. The answer goes to {returnsTo}.
        </p>
      ) : (
        <p className="note tone-warn">
          The program chose this name itself. Continue only if you just started to connect it. The answer goes
          to {returnsTo}.
        </p>
      )}
    </>
  )
}

function Permissions({
  requested,
  chosen,
  set,
  readOnly,
}: {
  requested: readonly Scope[]
  chosen: Narrowed
  set: (change: Partial<Narrowed>) => void
  readOnly: boolean
}) {
  const only = (scope: Scope) => !chosen.readOnly || scope === 'environments:read'
  const toggle = (scope: Scope, on: boolean) =>
    set({ scopes: requested.filter((one) => (one === scope ? on : chosen.scopes.includes(one))) })
  return (
    <fieldset>
      <legend>It will be able to</legend>
      {requested.map((scope) => (
        <Checkbox
          key={scope}
          checked={chosen.scopes.includes(scope) && only(scope)}
          disabled={!only(scope)}
          set={(on) => toggle(scope, on)}
        >
          {scopes[scope]}
        </Checkbox>
      ))}
      <Checkbox checked={chosen.readOnly} disabled={readOnly} set={(on) => set({ readOnly: on })}>
        Read-only: it can change nothing
      </Checkbox>
    </fieldset>
  )
}

function Groups({
  chosen: { groups: chosen, listsAll },
  set,
}: {
  chosen: Narrowed
  set: (change: Partial<Narrowed>) => void
}) {
  const isAll = chosen.length === toolGroups.length
  return (
    <details>
      <summary>Tools: {isAll ? 'all' : `${chosen.length} groups`}</summary>
      <fieldset>
        <legend>Groups of tools it gets</legend>
        {toolGroups.map((group) => (
          <Checkbox
            key={group}
            checked={chosen.includes(group)}
            set={(on) =>
              set({ groups: toolGroups.filter((one) => (one === group ? on : chosen.includes(one))) })
            }
          >
            {toolGroupWords[group]}
          </Checkbox>
        ))}
      </fieldset>
      <Checkbox checked={listsAll || !isAll} disabled={!isAll} set={(on) => set({ listsAll: on })}>
        List every tool of these groups, not only the usual ones
      </Checkbox>
    </details>
  )
}
