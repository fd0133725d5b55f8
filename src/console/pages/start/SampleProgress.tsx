import { Link } from '@tanstack/react-router'
import { useEffect, useRef, useState } from 'react'
import { getAppEnvStatus, getLogs } from '../../../contract/app-env-reads.ts'
import { getAppEnv } from '../../../contract/app-envs.ts'
import { everyMs, useRead } from '../../api/queries.ts'
import { Badge, type Tone } from '../../components/Badge.tsx'
import { Failed, Loading } from '../../components/states.tsx'
import { statusWords } from '../environments/status-words.ts'

interface Props {
  appEnvId: string
  /** The content that was deployed last: null while it is uploaded, undefined where another visit deployed it. */
  contentId: string | null | undefined
  uploading: boolean
  children: React.ReactNode
}

const done = new Set(['DEPLOYED', 'FAILED'])
/** Reasons of a failure before there was an image; the others are those of its container. */
const buildFailures = new Set([
  'image pull',
  'no Dockerfile',
  'build step',
  'build timeout',
  'lost upload',
  'bad archive',
])

/** Steps of a deployment with the build log as it is written, and the address once it serves. */
export function SampleProgress({ appEnvId, contentId: own, uploading, children }: Props) {
  const environment = useRead(getAppEnv, { appEnvId }, { everyMs: everyMs.live })
  const status = useRead(getAppEnvStatus, { appEnvId }, { everyMs: everyMs.live })
  const [seen, setSeen] = useState<string | null>(null)
  if (!environment.data || !status.data) {
    const error = environment.error ?? status.error
    return error ? <Failed error={error} /> : <Loading />
  }
  const { cliEnvName, hosts, currentVersion } = environment.data
  const deployment = status.data.currentDeployment
  // Once this page has seen its own deployment, any other one is later, such as that of an agent.
  if (own && deployment?.contentId === own && seen !== own) setSeen(own)
  const contentId = own === undefined || own === seen ? (deployment?.contentId ?? null) : own
  const state = uploading || deployment?.contentId !== contentId ? null : (deployment?.status ?? null)
  const isUnbuilt = state === 'FAILED' && buildFailures.has(deployment?.failure?.reason ?? '')
  const { tone, sentence, cause } = statusWords(status.data, environment.data)
  const url = hosts.find(({ kind }) => kind === 'function')?.url
  return (
    <>
      <ol className="steps" aria-label="Progress">
        <Step tone="ok">Function and environment created</Step>
        <Step tone={uploading ? 'busy' : contentId === null ? 'idle' : 'ok'}>Source uploaded</Step>
        <Step tone={isUnbuilt ? 'bad' : buildTone(state)}>
          {isUnbuilt ? 'Image not built' : 'Image built'}
        </Step>
        <Step tone={isUnbuilt ? 'idle' : deployTone(state)}>
          {state === 'FAILED' ? 'Not deployed' : 'Serving requests'}
        </Step>
      </ol>
      {contentId !== null && (
        <BuildLog appEnvId={appEnvId} contentId={contentId} live={!done.has(state ?? '')} />
      )}
      {state !== null && done.has(state) && (
        <div className={`note tone-${tone}`} role="status">
          <strong>{sentence}</strong>
          {cause && <span className="mono">{cause}</span>}
        </div>
      )}
      {currentVersion !== null && url && (
        <p>
          It answers at{' '}
          <a href={url} target="_blank" rel="noreferrer">
            {url}
          </a>
          . Watch it in{' '}
          <Link
            to="/environments/$envName"
            params={{ envName: cliEnvName }}
            search={({ account }) => ({ account })}
          >
            {cliEnvName}
          </Link>
          , or{' '}
          <Link
            to="/environments/$envName/alerts/new"
            params={{ envName: cliEnvName }}
            search={({ account }) => ({ account })}
          >
            set an alert
          </Link>
          .
        </p>
      )}
      {(currentVersion !== null || state === 'FAILED' || !uploading) && children}
    </>
  )
}

function buildTone(state: string | null): Tone {
  if (state === null) return 'idle'
  return state === 'BUILDING' ? 'busy' : 'ok'
}

function deployTone(state: string | null): Tone {
  if (state === 'DEPLOYED') return 'ok'
  if (state === 'FAILED') return 'bad'
  return state === 'DEPLOYING' ? 'busy' : 'idle'
}

const stepWords: Record<Tone, string> = {
  ok: 'Done',
  busy: 'Working',
  idle: 'Waiting',
  bad: 'Failed',
  warn: 'Warning',
}

function Step({ tone, children }: { tone: Tone; children: React.ReactNode }) {
  return (
    <li>
      <Badge tone={tone}>{stepWords[tone]}</Badge>
      {children}
    </li>
  )
}

function BuildLog({ appEnvId, contentId, live }: { appEnvId: string; contentId: string; live: boolean }) {
  const place = useRef<HTMLOListElement>(null)
  const read = useRead(
    getLogs,
    { appEnvId, type: 'BUILD', contentId, size: 300 },
    { everyMs: live ? everyMs.live : false },
  )
  const lines = read.data?.logs ?? []
  const { refetch } = read
  // Read once more at the end, because the last lines may arrive after the last poll.
  useEffect(() => {
    if (!live) void refetch()
  }, [live, refetch])
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs when lines arrive
  useEffect(() => {
    if (place.current) place.current.scrollTop = place.current.scrollHeight
  }, [lines.length])
  if (lines.length === 0) return null
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
    <ol className="logs build-log" ref={place} tabIndex={0} aria-label="Build log">
      {lines.map((line, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: lines are only added at the end
        <li key={index} className={line.stream}>
          <pre>{line.message}</pre>
        </li>
      ))}
    </ol>
  )
}
