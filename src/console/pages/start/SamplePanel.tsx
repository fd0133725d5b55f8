import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import sampleFiles from 'sample-function'
import { listRegions } from '../../../contract/regions.ts'
import type { AppError } from '../../../errors.ts'
import { useRead } from '../../api/queries.ts'
import { Empty, Failed, Loading, Problem } from '../../components/states.tsx'
import { useAccount } from '../../shell/account.ts'
import { createSample, deploySource, findSample } from './deploy-source.ts'
import { SampleProgress } from './SampleProgress.tsx'

/** A version that cannot start, to demonstrate a failed deployment. */
const brokenFiles = {
  ...sampleFiles,
  'server.js': "throw new Error('This version was broken on purpose')\n",
}

interface Deployed {
  appEnvId: string
  contentId: string
}

/** Creates a sample function with one click, shows its build, and lets the reader break and repair it. */
export function SamplePanel({ onCreated }: { onCreated?: () => void }) {
  const { accountId } = useAccount()
  const queries = useQueryClient()
  const regions = useRead(listRegions, {})
  const [chosen, setChosen] = useState<string | null>(null)
  const [created, setCreated] = useState<string | null>(null)
  const found = useQuery({ queryKey: ['sample', accountId], queryFn: () => findSample(accountId) })
  const appEnvId = created ?? found.data ?? null
  const deploy = useMutation<Deployed, AppError, Record<string, string>>({
    async mutationFn(files) {
      const id = appEnvId ?? (await createSample(accountId, chosen ?? possible[0]!.region))
      // Set before the upload, so that a second try deploys to the same environment.
      setCreated(id)
      onCreated?.()
      return { appEnvId: id, contentId: await deploySource(id, files) }
    },
    onSettled: () => void queries.invalidateQueries(),
  })
  if (regions.error && !regions.data) return <Failed error={regions.error} retry={() => regions.refetch()} />
  if (!regions.data || found.isPending) return <Loading />
  const possible = regions.data.regions.filter(({ functionDomain }) => functionDomain !== null)
  return (
    <section className="panel" aria-labelledby="sample">
      <header>
        <h2 id="sample">1. Deploy a sample function</h2>
      </header>
      <div className="body stack">
        {possible.length === 0 && (
          <Empty title="No region runs functions">Functions need a region with a function domain.</Empty>
        )}
        {possible.length > 0 && appEnvId === null && (
          <>
            <p>
              An HTTP server of 40 lines. Longshore builds it from its Dockerfile, gives it an address, and
              scales it with its requests, down to zero.
            </p>
            {possible.length > 1 && (
              <label className="row">
                Region
                <select
                  value={chosen ?? possible[0]!.region}
                  onChange={(event) => setChosen(event.target.value)}
                >
                  {possible.map(({ region, name }) => (
                    <option key={region} value={region}>
                      {name}
                    </option>
                  ))}
                </select>
              </label>
            )}
            <div className="row">
              <button
                type="button"
                className="button primary"
                disabled={deploy.isPending}
                onClick={() => deploy.mutate(sampleFiles)}
              >
                {deploy.isPending ? 'Creating…' : 'Create sample function'}
              </button>
            </div>
          </>
        )}
        {appEnvId !== null && (
          <SampleProgress
            appEnvId={appEnvId}
            contentId={deploy.isPending ? null : deploy.data?.contentId}
            uploading={deploy.isPending}
          >
            <Tour deploy={deploy.mutate} pending={deploy.isPending} failed={deploy.isError} />
          </SampleProgress>
        )}
        <Problem error={deploy.error} />
        <SampleSource />
      </div>
    </section>
  )
}

interface TourProps {
  deploy: (files: Record<string, string>) => void
  pending: boolean
  failed: boolean
}

function Tour({ deploy, pending, failed }: TourProps) {
  return (
    <div className="row">
      <button type="button" className="button" disabled={pending} onClick={() => deploy(brokenFiles)}>
        Deploy a broken version
      </button>
      <button type="button" className="button" disabled={pending} onClick={() => deploy(sampleFiles)}>
        {failed ? 'Try again' : 'Deploy the good version'}
      </button>
      <Link to="/activity" search={({ account }) => ({ account })}>
        See what changed
      </Link>
    </div>
  )
}

function SampleSource() {
  return (
    <details>
      <summary>Show the source</summary>
      {Object.entries(sampleFiles).map(([name, text]) => (
        <figure key={name} className="copy-block" style={{ marginTop: 8 }}>
          <figcaption>
            <code>{name}</code>
          </figcaption>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard */}
          <section className="scroller" tabIndex={0} aria-label={name}>
            <pre>{text}</pre>
          </section>
        </figure>
      ))}
    </details>
  )
}
