import type { World } from './account-world.ts'

interface Destruction {
  /** Arguments of a call that would destroy something. */
  args(world: World): Record<string, unknown>
  /** The required `confirm`; null if only a person confirms. */
  name: ((world: World) => string) | null
  /** The question to the person. */
  asks: RegExp
}

export const accountName = 'Harbor works'
export const domainNamed = (marker: string) => `${marker.toLowerCase()}.shop.example`
export const others = (one: World) => ({ accountId: one.accountId, membershipId: one.membershipId })

/** A call of each tool that destroys, and the question to the person. */
export const destructions: Record<string, Destruction> = {
  'delete-app': {
    args: ({ appId }) => ({ appId }),
    name: ({ marker }) => `${marker} app`,
    asks: /^Delete the CUSTOM app app_\w+ with its settings\? Deletes app app_\w+; .* cannot be undone\.\n\{"name":"WORLD\d+ app"\}$/,
  },
  'delete-app-env': {
    args: ({ appEnvId }) => ({ appEnvId }),
    name: ({ envName }) => envName,
    asks: /^Delete environment \S+ \(STOPPED\)\? Stops and removes 1 container of .*Removes its 1 variable.*cannot be undone\.$/,
  },
  'delete-contact-point': {
    args: ({ contactPointId }) => ({ contactPointId }),
    name: ({ accountId }) => `${accountId} point`,
    asks: /^Delete contact point .* \(webhook\) with its address and secrets\? .* No alert uses it\. This cannot be undone\.\n\{"name":"acc_\w+ point"\}$/,
  },
  'delete-alert': {
    args: ({ alertId }) => ({ alertId }),
    name: ({ marker }) => `${marker} alert`,
    asks: /^Delete alert alr_\w+ \(Normal\) with its history of 0 state changes\? .*cannot be undone\.\n\{"name":"WORLD\d+ alert"\}$/,
  },
  'delete-remediation': {
    args: ({ remediationId }) => ({ remediationId }),
    name: ({ marker }) => `${marker} fix`,
    asks: /^Delete remediation rem_\w+ \(mode observe\) with 1 run\? .*cannot be undone\.\n\{"name":"WORLD\d+ fix"\}$/,
  },
  'remove-app-env-domain': {
    // As a person may write it.
    args: ({ appEnvId, marker }) => ({ appEnvId, domain: `${domainNamed(marker).toUpperCase()}.` }),
    name: ({ marker }) => domainNamed(marker),
    asks: /^Remove domain \S+ \(waiting-dns\) with its certificate\? .* is no longer served under \S+\.$/,
  },
  'cancel-job-run': {
    args: ({ jobRunId }) => ({ jobRunId }),
    name: ({ jobRunId }) => jobRunId,
    asks: /^Cancel run run_\w+ of environment \S+ \(RUNNING, attempt 1 of 3\)\? Its container is stopped; .*cannot be undone\.$/,
  },
  'undo-change': {
    args: ({ entryId }) => ({ entryId }),
    name: ({ envName }) => envName,
    asks: /^Undo scale-app-env-containers of 20\S+ on app-env world\S+\? Puts back containers/,
  },
  'restore-app-env-backup': {
    args: ({ appEnvId, backupId }) => ({ appEnvId, backupId }),
    name: ({ envName }) => envName,
    asks: /^Replace the data of environment \S+ with a backup\? Replaces all data of .*cannot be undone\.$/,
  },
  'rotate-database-password': {
    args: ({ appEnvId }) => ({ appEnvId }),
    name: ({ envName }) => envName,
    asks: /^Replace the password of environment \S+; programs that hold the old one cannot connect\? .*cannot be undone\.$/,
  },
  'delete-app-env-backup': {
    args: ({ backupId }) => ({ backupId }),
    name: ({ backupId }) => backupId,
    asks: /^Delete backup bak_\w+ of environment world\S+ \(SUCCEEDED\)\? Deletes the copy of .*cannot be undone\.$/,
  },
  'update-account': {
    args: ({ accountId }) => ({ accountId, memberEnvAccessEnabled: false }),
    name: () => accountName,
    asks: /^Grant every member of account acc_\w+ FULL access\? Every member gets full access immediately; .*\n\{"name":/,
  },
  'update-app-env': {
    args: ({ appEnvId }) => ({ appEnvId, envVars: [] }),
    name: ({ envName }) => envName,
    asks: /^Remove 1 variable of world\S+\? Saved as pending .*\n\{"variables":\["WORLD\d+_VARIABLE"\]\}$/,
  },
  'update-app-env-variables': {
    args: ({ appEnvId, marker }) => ({ appEnvId, unset: [`${marker}_VARIABLE`] }),
    name: ({ envName }) => envName,
    asks: /^Remove 1 variable of world\S+\? Saved as pending .*\n\{"variables":\["WORLD\d+_VARIABLE"\]\}$/,
  },
  'update-member-env-access': {
    args: (one) => ({ ...others(one), grantFullAccess: true }),
    name: null,
    asks: /^Grant member mem_\w+ FULL access\? Access changed from 1 of \d+ environments to all \d+ environments/,
  },
}
