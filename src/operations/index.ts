import addMember from './add-member.ts'
import applyAppEnvChanges from './apply-app-env-changes.ts'
import cancelJobRun from './cancel-job-run.ts'
import createAccount from './create-account.ts'
import createAlert from './create-alert.ts'
import createApp from './create-app.ts'
import createAppEnv from './create-app-env.ts'
import createAppEnvBackup from './create-app-env-backup.ts'
import createContactPoint from './create-contact-point.ts'
import createUserToken from './create-user-token.ts'
import deleteAlert from './delete-alert.ts'
import deleteApp from './delete-app.ts'
import deleteAppEnv from './delete-app-env.ts'
import deleteAppEnvBackup from './delete-app-env-backup.ts'
import deleteContactPoint from './delete-contact-point.ts'
import deployAppEnvImage from './deploy-app-env-image.ts'
import explainAccess from './explain-access.ts'
import getAlert from './get-alert.ts'
import getApp from './get-app.ts'
import getAppEnv from './get-app-env.ts'
import getAppEnvBackup from './get-app-env-backup.ts'
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
import getUser from './get-user.ts'
import type { Handler } from './handler.ts'
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
import listUserTokens from './list-user-tokens.ts'
import notifyCodeUpload from './notify-code-upload.ts'
import probeFunction from './probe-function.ts'
import redeployAppEnv from './redeploy-app-env.ts'
import refreshAlert from './refresh-alert.ts'
import removeMember from './remove-member.ts'
import requestDeployStorageKey from './request-deploy-storage-key.ts'
import restartAppEnv from './restart-app-env.ts'
import restoreAppEnvBackup from './restore-app-env-backup.ts'
import revokeUserToken from './revoke-user-token.ts'
import rotateAppEnvToken from './rotate-app-env-token.ts'
import rotateUserToken from './rotate-user-token.ts'
import scaleAppEnvContainers from './scale-app-env-containers.ts'
import startAppEnv from './start-app-env.ts'
import startJobRun from './start-job-run.ts'
import stopAppEnv from './stop-app-env.ts'
import testContactPoint from './test-contact-point.ts'
import toggleAlert from './toggle-alert.ts'
import undoChange from './undo-change.ts'
import updateAccount from './update-account.ts'
import updateAlert from './update-alert.ts'
import updateAppEnv from './update-app-env.ts'
import updateAppEnvAutoscaling from './update-app-env-autoscaling.ts'
import updateAppEnvVariables from './update-app-env-variables.ts'
import updateContactPoint from './update-contact-point.ts'
import updateFunctionConfig from './update-function-config.ts'
import updateJobConfig from './update-job-config.ts'
import updateMemberEnvAccess from './update-member-env-access.ts'

/** Every operation the platform can carry out; a row of the contract without one stops the start. */
export const handlers: readonly Handler[] = [
  addMember,
  applyAppEnvChanges,
  createAccount,
  cancelJobRun,
  createApp,
  createAppEnv,
  createUserToken,
  createAppEnvBackup,
  deleteAppEnvBackup,
  getAppEnvBackup,
  listAppEnvBackups,
  restoreAppEnvBackup,
  deleteApp,
  createAlert,
  createContactPoint,
  deleteAlert,
  deleteAppEnv,
  deleteContactPoint,
  deployAppEnvImage,
  getAlert,
  explainAccess,
  getApp,
  getAppEnv,
  getAppEnvHistory,
  getAppEnvMetrics,
  getAppEnvMetricsSeries,
  getAppEnvPods,
  getAppEnvStatus,
  getAppEnvUsage,
  getContactPoint,
  getJobRun,
  getLogs,
  getMemberEnvAccess,
  getUser,
  listAccounts,
  listAlerts,
  listAppEnvs,
  listApps,
  listAudit,
  listMembers,
  listContactPoints,
  listDatabasePresets,
  listJobRuns,
  listRegions,
  listUserTokens,
  notifyCodeUpload,
  redeployAppEnv,
  removeMember,
  refreshAlert,
  requestDeployStorageKey,
  restartAppEnv,
  revokeUserToken,
  rotateAppEnvToken,
  rotateUserToken,
  scaleAppEnvContainers,
  startAppEnv,
  startJobRun,
  stopAppEnv,
  undoChange,
  updateAccount,
  testContactPoint,
  toggleAlert,
  updateAlert,
  updateAppEnv,
  updateAppEnvAutoscaling,
  updateAppEnvVariables,
  updateContactPoint,
  updateFunctionConfig,
  probeFunction,
  updateJobConfig,
  updateMemberEnvAccess,
]
