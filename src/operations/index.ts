import addMember from './add-member.ts'
import applyAppEnvChanges from './apply-app-env-changes.ts'
import createAccount from './create-account.ts'
import createApp from './create-app.ts'
import createAppEnv from './create-app-env.ts'
import createUserToken from './create-user-token.ts'
import deleteApp from './delete-app.ts'
import deleteAppEnv from './delete-app-env.ts'
import deployAppEnvImage from './deploy-app-env-image.ts'
import getApp from './get-app.ts'
import getAppEnv from './get-app-env.ts'
import getAppEnvHistory from './get-app-env-history.ts'
import getAppEnvMetrics from './get-app-env-metrics.ts'
import getAppEnvMetricsSeries from './get-app-env-metrics-series.ts'
import getAppEnvPods from './get-app-env-pods.ts'
import getAppEnvStatus from './get-app-env-status.ts'
import getAppEnvUsage from './get-app-env-usage.ts'
import getLogs from './get-logs.ts'
import getMemberEnvAccess from './get-member-env-access.ts'
import getUser from './get-user.ts'
import type { Handler } from './handler.ts'
import listAccounts from './list-accounts.ts'
import listAppEnvs from './list-app-envs.ts'
import listApps from './list-apps.ts'
import listAudit from './list-audit.ts'
import listMembers from './list-members.ts'
import listRegions from './list-regions.ts'
import listUserTokens from './list-user-tokens.ts'
import notifyCodeUpload from './notify-code-upload.ts'
import redeployAppEnv from './redeploy-app-env.ts'
import removeMember from './remove-member.ts'
import requestDeployStorageKey from './request-deploy-storage-key.ts'
import restartAppEnv from './restart-app-env.ts'
import revokeUserToken from './revoke-user-token.ts'
import rotateAppEnvToken from './rotate-app-env-token.ts'
import rotateUserToken from './rotate-user-token.ts'
import scaleAppEnvContainers from './scale-app-env-containers.ts'
import startAppEnv from './start-app-env.ts'
import stopAppEnv from './stop-app-env.ts'
import updateAccount from './update-account.ts'
import updateAppEnv from './update-app-env.ts'
import updateAppEnvAutoscaling from './update-app-env-autoscaling.ts'
import updateAppEnvVariables from './update-app-env-variables.ts'
import updateFunctionConfig from './update-function-config.ts'
import updateJobConfig from './update-job-config.ts'
import updateMemberEnvAccess from './update-member-env-access.ts'

/** Every operation the platform can carry out; a row of the contract without one stops the start. */
export const handlers: readonly Handler[] = [
  addMember,
  applyAppEnvChanges,
  createAccount,
  createApp,
  createAppEnv,
  createUserToken,
  deleteApp,
  deleteAppEnv,
  deployAppEnvImage,
  getApp,
  getAppEnv,
  getAppEnvHistory,
  getAppEnvMetrics,
  getAppEnvMetricsSeries,
  getAppEnvPods,
  getAppEnvStatus,
  getAppEnvUsage,
  getLogs,
  getMemberEnvAccess,
  getUser,
  listAccounts,
  listAppEnvs,
  listApps,
  listAudit,
  listMembers,
  listRegions,
  listUserTokens,
  notifyCodeUpload,
  redeployAppEnv,
  removeMember,
  requestDeployStorageKey,
  restartAppEnv,
  revokeUserToken,
  rotateAppEnvToken,
  rotateUserToken,
  scaleAppEnvContainers,
  startAppEnv,
  stopAppEnv,
  updateAccount,
  updateAppEnv,
  updateAppEnvAutoscaling,
  updateAppEnvVariables,
  updateFunctionConfig,
  updateJobConfig,
  updateMemberEnvAccess,
]
