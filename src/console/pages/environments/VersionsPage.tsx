import { useNavigate, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { compareAppEnvVersions, redeployAppEnv } from '../../../contract/deployments.ts'
import type { OutputOf } from '../../../contract/operation.ts'
import { useRead } from '../../api/queries.ts'
import { ConfirmWrite } from '../../components/ConfirmWrite.tsx'
import { Diff } from '../../components/Diff.tsx'
import { Empty, Failed, Loading } from '../../components/states.tsx'
import { Time } from '../../components/Time.tsx'
import { exactTime } from '../../components/words.ts'
import { useEnvironment } from './environment.ts'

type Compared = OutputOf<typeof compareAppEnvVersions>

/** The differences of two versions, and a way back to one of them. */
export function VersionsPage() {
  const { appEnvId, currentVersion } = useEnvironment()
  const search = useSearch({ from: '/frame/environments/$envName/versions' })
  const to = search.to ?? currentVersion ?? 1
  const from = search.from ?? Math.max(1, to - 1)
  const navigate = useNavigate({ from: '/environments/$envName/versions' })
  const choose = (change: { from?: number; to?: number }) =>
    navigate({ search: ({ account }) => ({ account, from, to, ...change }), replace: true })
  const read = useRead(compareAppEnvVersions, { appEnvId, from, to }, { keep: true })
  return (
    <section className="panel" aria-labelledby="versions">
      <header>
        <h2 id="versions">Compare versions</h2>
        <VersionInput label="Before" value={from} set={(version) => choose({ from: version })} />
        <VersionInput label="After" value={to} set={(version) => choose({ to: version })} />
      </header>
      {read.error && <Failed error={read.error} hidesForbidden />}
      {read.isPending && <Loading />}
      {read.data && !read.error && <Comparison compared={read.data} />}
    </section>
  )
}

function VersionInput({
  label,
  value,
  set,
}: {
  label: string
  value: number
  set: (version: number) => void
}) {
  return (
    <label className="row">
      {label}
      <input
        type="number"
        className="short"
        min={1}
        value={value}
        onChange={(event) => event.target.validity.valid && set(Number(event.target.value) || 1)}
      />
    </label>
  )
}

function Comparison({ compared }: { compared: Compared }) {
  const { from, to, variables } = compared
  const [version, setVersion] = useState<number | null>(null)
  const { appEnvId, currentVersion } = useEnvironment()
  const changes = changesOf(compared)
  const others = [...new Set([from.version, to.version])].filter((one) => one !== currentVersion)
  return (
    <div className="body stack">
      <p className="muted">
        Version {from.version} was made <Time at={from.createdAt} />, version {to.version}{' '}
        <Time at={to.createdAt} />. Settings are those that a version was deployed with last.
      </p>
      {changes.length === 0 && variables.length === 0 && (
        <Empty title="No difference">Source, settings and variables are the same.</Empty>
      )}
      <Diff changes={changes} />
      {variables.length > 0 && (
        <section aria-labelledby="changed-variables" className="stack">
          <h3 id="changed-variables">Variables</h3>
          <ul className="effects">
            {variables.map(({ name, change }) => (
              <li key={name}>
                <code>{name}</code> {change}
              </li>
            ))}
          </ul>
        </section>
      )}
      <div className="row">
        {others.map((one) => (
          <button key={one} type="button" className="button" onClick={() => setVersion(one)}>
            {currentVersion !== null && one < currentVersion ? 'Roll back to' : 'Deploy'} version {one}
          </button>
        ))}
      </div>
      {version !== null && (
        <ConfirmWrite
          row={redeployAppEnv}
          input={{ appEnvId, version }}
          title={`Deploy version ${version} again?`}
          action={`Deploy version ${version}`}
          done={({ message }) => message}
          onClose={() => setVersion(null)}
        >
          <p className="muted">
            Its source or image comes back, with the variables and settings it ran with. Pending changes stay
            pending.
          </p>
        </ConfirmWrite>
      )}
    </div>
  )
}

const sourceFields = ['type', 'image', 'gitBranch', 'gitCommitId'] as const

/** The name of an image that the platform built means nothing to people, so its time is shown. */
function sourceWords(version: Compared['from'], name: (typeof sourceFields)[number]): string | null {
  if (name !== 'image' || version.type !== 'BUILD') return version[name]
  return `built from source on ${exactTime(version.createdAt)}`
}

/** Source or image first, then the settings. */
function changesOf({ from, to, changes }: Compared) {
  const source = sourceFields
    .filter((name) => from[name] !== to[name])
    .map((name) => ({
      path: `source.${name}`,
      before: sourceWords(from, name),
      after: sourceWords(to, name),
    }))
  return [...source, ...changes]
}
