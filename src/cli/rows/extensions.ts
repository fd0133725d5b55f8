import { Option } from 'commander'
import type { Client } from '../../client/client.ts'
import { listAppEnvs } from '../../contract/app-envs.ts'
import { operations } from '../../contract/index.ts'
import type { Operation } from '../../contract/operation.ts'
import { newAlertExtension } from '../alerts/create.ts'
import { alertListExtension } from '../alerts/list.ts'
import { backupListExtension, newBackupExtension } from '../backup.ts'
import type { Options } from '../command.ts'
import { UsageError } from '../command-io.ts'
import { addDomainExtension, domainLines, uploadCertificateExtension } from '../domains.ts'
import { envLines } from '../env-lines.ts'
import { healthReport } from '../health-report.ts'
import { incidentReport } from '../incident-report.ts'
import { printable } from '../progress.ts'
import { renderTable } from '../render.ts'
import { newTokenExtension } from '../token.ts'
import type { RowExtension } from './extension.ts'
import {
  accessLines,
  accountLines,
  alertLines,
  cancelLines,
  causeLines,
  newPointLines,
  presetLines,
  regionLines,
  runDetails,
  runLines,
  stateLines,
  testPointExtension,
} from './reports.ts'
import { variablesExtension } from './variables.ts'
import { wordsOf } from './words.ts'

const extensions: Readonly<Record<string, RowExtension>> = {
  'list-database-presets': { render: presetLines },
  'list-accounts': { render: accountLines },
  'list-regions': { render: regionLines },
  'get-app-env': { render: envLines },
  'diagnosis-causes': { render: causeLines },
  'explain-access': { render: accessLines },
  'get-account-health': { render: healthReport },
  'get-incident': { render: incidentReport },
  'get-app': { after: environmentsOf },
  'list-alerts': alertListExtension,
  'create-alert': newAlertExtension,
  'get-alert': { render: alertLines },
  'toggle-alert': { render: ({ message }: { message: string }) => [printable(message)] },
  'refresh-alert': { render: stateLines },
  'list-contact-points': { everyAccount: true },
  'create-contact-point': { render: newPointLines },
  'test-contact-point': testPointExtension,
  'list-app-env-backups': backupListExtension,
  'create-app-env-backup': newBackupExtension,
  'add-app-env-domain': addDomainExtension,
  'list-app-env-domains': { render: domainLines },
  'upload-app-env-certificate': uploadCertificateExtension,
  'create-user-token': newTokenExtension,
  'list-job-runs': { render: runLines },
  'get-job-run': { render: runDetails },
  'cancel-job-run': { render: cancelLines },
  'update-app-env-variables': variablesExtension,
  'update-member-env-access': {
    options: [new Option('--full-access', 'let the member access every environment')],
    prepare({ allowedAppEnvIds }, { fullAccess }) {
      const names = Array.isArray(allowedAppEnvIds) && allowedAppEnvIds.length > 0
      if (names === (fullAccess === true)) {
        throw new UsageError('give --allowed-app-env-ids, or --full-access to remove all restrictions')
      }
    },
  },
}

export function extensionOf(row: Operation): RowExtension {
  return extensions[row.id] ?? {}
}

/** Advice for an empty list; empty if there is none. */
export function emptyHint(row: Operation): string {
  const named: Readonly<Record<string, string>> = {
    'list-app-envs': 'longshore create makes an app with its first environment.',
    'list-apps': 'longshore create makes an app with its first environment.',
    'list-invitations': 'An account that invites you appears here.',
    'get-app-env-pods': 'No container runs. longshore status shows whether that is as it should be.',
    'get-app-env-history': 'Nothing happened to this environment in that time.',
    'what-changed': 'Nothing changed in that time. --from looks further back.',
    'get-app-env-metrics-series': 'There are no measurements in that time. --from looks further back.',
    'list-audit': 'No entry matches.',
  }
  const [noun, verb] = wordsOf(row.id)
  if (named[row.id] !== undefined || verb !== 'list') return named[row.id] ?? ''
  const maker = operations
    .map(({ id }) => wordsOf(id))
    .find((words) => words[0] === noun && words[1] === 'create')
  return maker ? `Make one: longshore ${maker.join(' ')} --help shows how.` : ''
}

/** The environments of an app: an app itself has no status. */
async function environmentsOf(client: Client, { appId }: Options): Promise<string[]> {
  const { appEnvs } = await client.call(listAppEnvs, { appId: String(appId) })
  const rows = appEnvs.map(({ cliEnvName, appEnvId, status, currentVersion }) => ({
    cliEnvName,
    appEnvId,
    status,
    currentVersion,
  }))
  return ['environments', ...renderTable(rows, 'environments').map((line) => `  ${line}`)]
}
