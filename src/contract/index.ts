import { createAccount, listAccounts, updateAccount } from './accounts.ts'
import {
  createAlert,
  deleteAlert,
  getAlert,
  listAlerts,
  refreshAlert,
  toggleAlert,
  updateAlert,
} from './alerts.ts'
import {
  applyAppEnvChanges,
  restartAppEnv,
  scaleAppEnvContainers,
  startAppEnv,
  stopAppEnv,
  updateAppEnvAutoscaling,
  updateAppEnvVariables,
  updateFunctionConfig,
} from './app-env-actions.ts'
import { getAppEnvHistory, getAppEnvPods, getAppEnvStatus, getLogs } from './app-env-reads.ts'
import { createAppEnv, deleteAppEnv, getAppEnv, listAppEnvs, updateAppEnv } from './app-envs.ts'
import { createApp, deleteApp, getApp, listApps } from './apps.ts'
import { explainAccess, listAudit, undoChange } from './audit.ts'
import {
  createAppEnvBackup,
  deleteAppEnvBackup,
  getAppEnvBackup,
  listAppEnvBackups,
  restoreAppEnvBackup,
} from './backups.ts'
import {
  createContactPoint,
  deleteContactPoint,
  getContactPoint,
  listContactPoints,
  testContactPoint,
  updateContactPoint,
} from './contact-points.ts'
import { listDatabasePresets } from './databases.ts'
import {
  deployAppEnvImage,
  notifyCodeUpload,
  redeployAppEnv,
  requestDeployStorageKey,
} from './deployments.ts'
import { probeFunction } from './function-probe.ts'
import { cancelJobRun, getJobRun, listJobRuns, startJobRun, updateJobConfig } from './jobs.ts'
import { getAppEnvMetrics, getAppEnvMetricsSeries, getAppEnvUsage } from './measurements.ts'
import { addMember, getMemberEnvAccess, listMembers, removeMember, updateMemberEnvAccess } from './members.ts'
import type { Operation } from './operation.ts'
import { listRegions } from './regions.ts'
import {
  createUserToken,
  getUser,
  listUserTokens,
  revokeUserToken,
  rotateAppEnvToken,
  rotateUserToken,
} from './users.ts'

/** Every operation there is, in the order in which documents and tool lists show them. */
export const operations: readonly Operation[] = [
  listAccounts,
  createAccount,
  updateAccount,
  listRegions,
  listDatabasePresets,
  createApp,
  getApp,
  listApps,
  deleteApp,
  createAppEnv,
  getAppEnv,
  updateAppEnv,
  deleteAppEnv,
  listAppEnvs,
  getAppEnvStatus,
  getAppEnvPods,
  getAppEnvHistory,
  getLogs,
  getAppEnvMetrics,
  getAppEnvMetricsSeries,
  getAppEnvUsage,
  requestDeployStorageKey,
  notifyCodeUpload,
  deployAppEnvImage,
  redeployAppEnv,
  applyAppEnvChanges,
  stopAppEnv,
  startAppEnv,
  restartAppEnv,
  updateAppEnvVariables,
  updateFunctionConfig,
  probeFunction,
  updateJobConfig,
  startJobRun,
  listJobRuns,
  getJobRun,
  cancelJobRun,
  updateAppEnvAutoscaling,
  scaleAppEnvContainers,
  createAppEnvBackup,
  listAppEnvBackups,
  getAppEnvBackup,
  restoreAppEnvBackup,
  deleteAppEnvBackup,
  listMembers,
  addMember,
  removeMember,
  getMemberEnvAccess,
  updateMemberEnvAccess,
  getUser,
  rotateUserToken,
  createUserToken,
  listUserTokens,
  revokeUserToken,
  rotateAppEnvToken,
  listAudit,
  explainAccess,
  listContactPoints,
  getContactPoint,
  createContactPoint,
  updateContactPoint,
  deleteContactPoint,
  testContactPoint,
  listAlerts,
  getAlert,
  createAlert,
  updateAlert,
  deleteAlert,
  toggleAlert,
  refreshAlert,
  undoChange,
]
