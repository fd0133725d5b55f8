import { Link, Outlet, useLocation, useNavigate, useParams } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { restartAppEnv, startAppEnv, stopAppEnv } from '../../../contract/app-env-actions.ts'
import { type AppEnv, getAppEnv } from '../../../contract/app-envs.ts'
import { getApp } from '../../../contract/apps.ts'
import { cancelDeployment } from '../../../contract/deployments.ts'
import { everyMs, useRead } from '../../api/queries.ts'
import { ConfirmWrite } from '../../components/ConfirmWrite.tsx'
import { usePageTitle } from '../../components/page-title.ts'
import { Failed, Loading } from '../../components/states.tsx'
import { useAccounts } from '../../shell/account.ts'
import { sentenceCase } from '../../words/text.ts'
import { EnvironmentProvider } from './environment.ts'
import { PendingBar } from './PendingBar.tsx'
import { StatusBadge } from './StatusBadge.tsx'

/** Header and tabs of one environment. Without access, shows the same page as for a missing one (M2). */
export function EnvironmentFrame() {
  const { envName } = useParams({ from: '/frame/environments/$envName' })
  const read = useRead(getAppEnv, { envName }, { everyMs: everyMs.status })
  const tab = useLocation().pathname.split('/')[3]
  usePageTitle(...(tab === undefined ? [] : [sentenceCase(tab.replaceAll('-', ' '))]), envName)
  useAccountOf(read.data)
  const lost = read.error && ['not-found', 'forbidden'].includes(read.error.kind)
  if (read.error && (!read.data || lost))
    return <Failed error={read.error} retry={() => read.refetch()} hidesForbidden />
  if (!read.data) return <Loading rows={6} />
  return (
    <EnvironmentProvider value={read.data}>
      <Head environment={read.data} />
      <PendingBar environment={read.data} />
      <Tabs environment={read.data} />
      <Outlet />
    </EnvironmentProvider>
  )
}

/** The address of an environment names no account, so another of the reader's accounts may be chosen. */
function useAccountOf(environment: AppEnv | undefined): void {
  const { all, chosen } = useAccounts()
  const navigate = useNavigate()
  const own = all.find(({ accountId }) => accountId === environment?.accountId)
  const other = own === chosen ? undefined : own?.accountId
  useEffect(() => {
    if (other !== undefined)
      void navigate({ to: '.', search: (before) => ({ ...before, account: other }), replace: true })
  }, [other, navigate])
}

function Head({ environment }: { environment: AppEnv }) {
  const { appId, cliEnvName, name, region } = environment
  const app = useRead(getApp, { appId })
  return (
    <div className="page-head">
      <h1>{app.data ? `${app.data.name} / ${name}` : cliEnvName}</h1>
      <StatusBadge environment={environment} />
      <span className="muted small">
        <code>{cliEnvName}</code> in {region}
      </span>
      <Actions environment={environment} />
    </div>
  )
}

const actions = {
  start: { row: startAppEnv, label: 'Start' },
  restart: { row: restartAppEnv, label: 'Restart' },
  stop: { row: stopAppEnv, label: 'Stop' },
  cancel: { row: cancelDeployment, label: 'Cancel deployment' },
} as const

function offeredActions({
  isJob,
  status,
  currentVersion,
}: Pick<AppEnv, 'isJob' | 'status' | 'currentVersion'>): (keyof typeof actions)[] {
  const cancel = status === 'PENDING' || status === 'UPDATING' ? (['cancel'] as const) : []
  if (isJob || currentVersion === null) return [...cancel]
  return status === 'STOPPED' ? ['start'] : [...cancel, 'restart', 'stop']
}

function Actions({
  environment: { appEnvId, cliEnvName, status, isJob, currentVersion },
}: {
  environment: AppEnv
}) {
  const [confirming, setConfirming] = useState<keyof typeof actions | null>(null)
  const offered = offeredActions({ isJob, status, currentVersion })
  const { row, label } = actions[confirming ?? 'start']
  return (
    <div className="row actions">
      {offered.map((id) => (
        <button key={id} type="button" className="button" onClick={() => setConfirming(id)}>
          {actions[id].label}
        </button>
      ))}
      {confirming && (
        <ConfirmWrite
          key={confirming}
          row={row}
          input={{ appEnvId }}
          title={`${label} ${cliEnvName}?`}
          action={label}
          danger={confirming === 'stop' || confirming === 'cancel'}
          done={({ message }) => message}
          onClose={() => setConfirming(null)}
        />
      )}
    </div>
  )
}

function Tabs({ environment }: { environment: AppEnv }) {
  const { cliEnvName: envName, isDatabase, isJob, useVolume } = environment
  const tabs = [
    ['/environments/$envName', 'Summary', true],
    ['/environments/$envName/deployments', 'Deployments', true],
    ['/environments/$envName/runs', 'Runs', isJob],
    ['/environments/$envName/job-settings', 'Job settings', isJob],
    ['/environments/$envName/logs', 'Logs', true],
    ['/environments/$envName/variables', 'Variables', !isDatabase],
    ['/environments/$envName/scaling', 'Scaling', !isJob],
    ['/environments/$envName/database', 'Database', isDatabase],
    ['/environments/$envName/backups', 'Backups', isDatabase || useVolume],
    ['/environments/$envName/alerts', 'Alerts', true],
    ['/environments/$envName/remediations', 'Remediations', true],
    ['/environments/$envName/activity', 'Activity', true],
    ['/environments/$envName/settings', 'Settings', true],
  ] as const
  return (
    <nav className="tabs" aria-label="Environment">
      {tabs
        .filter(([, , shown]) => shown)
        .map(([to, label]) => (
          <Link
            key={to}
            to={to}
            params={{ envName }}
            search={({ account }) => ({ account })}
            activeOptions={{ exact: label === 'Summary', includeSearch: false }}
          >
            {label}
          </Link>
        ))}
    </nav>
  )
}
