import { systemClock } from '../../clock.ts'
import type { listAccounts } from '../../contract/accounts.ts'
import type { AlertDetails, refreshAlert } from '../../contract/alerts.ts'
import type { explainAccess } from '../../contract/audit.ts'
import type { createContactPoint, testContactPoint } from '../../contract/contact-points.ts'
import type { DatabasePresetRead } from '../../contract/databases.ts'
import type { listDiagnosisCauses } from '../../contract/diagnosis.ts'
import type { cancelJobRun, getJobRun, listJobRuns } from '../../contract/jobs.ts'
import type { OutputOf } from '../../contract/operation.ts'
import type { listRegions } from '../../contract/regions.ts'
import { alertReport } from '../alerts/report.ts'
import { exitCodes } from '../command-io.ts'
import { runReport, runsReport } from '../jobs/report.ts'
import { printable } from '../progress.ts'
import { aligned, renderBlocks, renderResult } from '../render.ts'
import type { RowExtension } from './extension.ts'

/** A line for each account: its id, the caller's permissions there, and the limits that matter for calls. */
export function accountLines({ accounts }: OutputOf<typeof listAccounts>): string[] {
  const rows = accounts.map(({ accountId, name, permissions, settings }) => [
    accountId,
    printable(name),
    permissions.admin ? 'admin' : permissions.manageMembers ? 'manages members' : 'member',
    settings.memberEnvAccessEnabled ? 'per environment' : 'every environment',
    String(settings.functionMaxScale),
    String(settings.zCloudLimit),
  ])
  const head = ['accountId', 'name', 'you', 'members access', 'functionMaxScale', 'zCloudLimit']
  return [...aligned([head, ...rows]), '--json shows all settings.']
}

/** A line for each region: its engine, and whether containers are kept from the machine. */
export function regionLines({ regions }: OutputOf<typeof listRegions>): string[] {
  const rows = regions.map(({ region, name, engine, functionDomain, isolation }) => [
    region,
    printable(name),
    engine,
    functionDomain ?? '-',
    isolation.metadataBlocked ? 'yes' : `no: ${printable(isolation.reason ?? 'see README, Engines')}`,
  ])
  return aligned([['region', 'name', 'engine', 'functionDomain', 'machine and metadata blocked'], ...rows])
}

/** Each cause with its meaning and its fix in full. */
export function causeLines({ causes }: OutputOf<typeof listDiagnosisCauses>): string[] {
  return renderBlocks(causes)
}

/** The access of every member, with the rules in full. */
export function accessLines({ members, ...facts }: OutputOf<typeof explainAccess>): string[] {
  const rows = members.map(({ email, ...member }) => ({ email, ...member }))
  return [...renderResult(facts), '', ...renderBlocks(rows)]
}

/** A line for each version of each managed database: the value to pass, and whether it runs here. */
export function presetLines({ presets }: { presets: readonly DatabasePresetRead[] }): string[] {
  const rows = presets.flatMap(({ dockerPreset, defaultVersion, versions }) =>
    versions.map(({ key, label, variant, available, unavailableReason }) => [
      dockerPreset,
      `${key}${key === defaultVersion ? ' (default)' : ''}`,
      printable(label),
      variant ?? '-',
      available ? 'yes' : `no: ${printable(unavailableReason ?? 'it cannot run here')}`,
    ]),
  )
  return aligned([['preset', 'version', 'label', 'variant', 'available'], ...rows])
}

/** One alert; `envName` is the name of its environment. */
export function alertLines(alert: AlertDetails & { envName: string }): string[] {
  return alertReport(alert, alert.envName, systemClock.wallMs())
}

export function stateLines({
  state,
  previousState,
  lastStateCheck,
}: OutputOf<typeof refreshAlert>): string[] {
  const was = previousState === state ? 'as before' : `was ${previousState}`
  return [`${state} (${was}), evaluated at ${lastStateCheck}`]
}

export function runLines({ jobRuns, pagination }: OutputOf<typeof listJobRuns>): string[] {
  return runsReport(jobRuns, pagination.total, systemClock.wallMs())
}

export function runDetails({ jobRun, snapshotFrom }: OutputOf<typeof getJobRun>): string[] {
  return runReport(jobRun, snapshotFrom, systemClock.wallMs())
}

export function cancelLines({ jobRun: { jobRunId, status } }: OutputOf<typeof cancelJobRun>): string[] {
  return status === 'CANCELED'
    ? [`Run ${jobRunId} is canceled; its container is stopped.`]
    : [`Run ${jobRunId} had already ended: ${status}.`]
}

export function newPointLines({ contactPoint }: OutputOf<typeof createContactPoint>): string[] {
  const { contactPointId } = contactPoint
  return [
    `Created the contact point ${contactPointId}.`,
    `Try it: longshore contact-points test ${contactPointId}`,
  ]
}

/** The exit code shows scripts whether the notification arrived. */
export const testPointExtension: RowExtension = {
  render: ({ delivered, attempts }: OutputOf<typeof testContactPoint>) => [
    attempts.length === 0
      ? 'The platform was interrupted: it is not known whether the test notification arrived.'
      : delivered
        ? 'The test notification arrived.'
        : 'The test notification did NOT arrive.',
    ...attempts.map(({ at, ok, reason = '' }) => `  ${ok ? '✓' : '✗'} ${at}  ${printable(reason)}`.trimEnd()),
  ],
  exitCode: ({ delivered }: OutputOf<typeof testContactPoint>) =>
    delivered ? exitCodes.done : exitCodes.failed,
}
