import type { Tool } from '../src/mcp/define-tool.ts'
import applyAppEnvChanges from './apply-app-env-changes.ts'
import cancelJobRun from './cancel-job-run.ts'
import createAlert from './create-alert.ts'
import createApp from './create-app.ts'
import createAppEnv from './create-app-env.ts'
import createAppEnvBackup from './create-app-env-backup.ts'
import createContactPoint from './create-contact-point.ts'
import deleteAlert from './delete-alert.ts'
import deleteApp from './delete-app.ts'
import deleteAppEnv from './delete-app-env.ts'
import deleteContactPoint from './delete-contact-point.ts'
import deployAppEnvImage from './deploy-app-env-image.ts'
import explainAccess from './explain-access.ts'
import getAlert from './get-alert.ts'
import getApp from './get-app.ts'
import getAppEnv from './get-app-env.ts'
import getAppEnvHistory from './get-app-env-history.ts'
import getAppEnvMetrics from './get-app-env-metrics.ts'
import getAppEnvMetricsSeries from './get-app-env-metrics-series.ts'
import getAppEnvPods from './get-app-env-pods.ts'
import getAppEnvStatus from './get-app-env-status.ts'
import getAppEnvUsage from './get-app-env-usage.ts'
import getContactPoint from './get-contact-point.ts'
import getJobRun from './get-job-run.ts'
import getLogs from './get-logs.ts'
import getMemberEnvAccess from './get-member-env-access.ts'
import listAccounts from './list-accounts.ts'
import listAlerts from './list-alerts.ts'
import listAppEnvBackups from './list-app-env-backups.ts'
import listAppEnvs from './list-app-envs.ts'
import listApps from './list-apps.ts'
import listAudit from './list-audit.ts'
import listContactPoints from './list-contact-points.ts'
import listDatabasePresets from './list-database-presets.ts'
import listJobRuns from './list-job-runs.ts'
import listMembers from './list-members.ts'
import listRegions from './list-regions.ts'
import notifyCodeUpload from './notify-code-upload.ts'
import probeFunction from './probe-function.ts'
import redeployAppEnv from './redeploy-app-env.ts'
import refreshAlert from './refresh-alert.ts'
import requestDeployStorageKey from './request-deploy-storage-key.ts'
import restartAppEnv from './restart-app-env.ts'
import restoreAppEnvBackup from './restore-app-env-backup.ts'
import scaleAppEnvContainers from './scale-app-env-containers.ts'
import startAppEnv from './start-app-env.ts'
import startJobRun from './start-job-run.ts'
import stopAppEnv from './stop-app-env.ts'
import testContactPoint from './test-contact-point.ts'
import toggleAlert from './toggle-alert.ts'
import undoChange from './undo-change.ts'
import updateAlert from './update-alert.ts'
import updateAppEnv from './update-app-env.ts'
import updateAppEnvAutoscaling from './update-app-env-autoscaling.ts'
import updateAppEnvVariables from './update-app-env-variables.ts'
import updateContactPoint from './update-contact-point.ts'
import updateFunctionConfig from './update-function-config.ts'
import updateJobConfig from './update-job-config.ts'
import updateMemberEnvAccess from './update-member-env-access.ts'

/** Every agent tool, in the order in which clients list them. */
export const tools: readonly Tool[] = [
  listAccounts,
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
  restoreAppEnvBackup,
  listMembers,
  getMemberEnvAccess,
  updateMemberEnvAccess,
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
