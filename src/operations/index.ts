import applyAppEnvChanges from './apply-app-env-changes.ts'
import createApp from './create-app.ts'
import createAppEnv from './create-app-env.ts'
import deleteAppEnv from './delete-app-env.ts'
import deployAppEnvImage from './deploy-app-env-image.ts'
import getApp from './get-app.ts'
import getAppEnv from './get-app-env.ts'
import getAppEnvHistory from './get-app-env-history.ts'
import getAppEnvPods from './get-app-env-pods.ts'
import getAppEnvStatus from './get-app-env-status.ts'
import getLogs from './get-logs.ts'
import type { Handler } from './handler.ts'
import listAccounts from './list-accounts.ts'
import listAppEnvs from './list-app-envs.ts'
import listApps from './list-apps.ts'
import listRegions from './list-regions.ts'
import notifyCodeUpload from './notify-code-upload.ts'
import redeployAppEnv from './redeploy-app-env.ts'
import requestDeployStorageKey from './request-deploy-storage-key.ts'
import restartAppEnv from './restart-app-env.ts'
import scaleAppEnvContainers from './scale-app-env-containers.ts'
import startAppEnv from './start-app-env.ts'
import stopAppEnv from './stop-app-env.ts'
import updateAppEnv from './update-app-env.ts'
import updateAppEnvAutoscaling from './update-app-env-autoscaling.ts'
import updateAppEnvVariables from './update-app-env-variables.ts'
import updateFunctionConfig from './update-function-config.ts'
import updateJobConfig from './update-job-config.ts'

/** Every operation the platform can carry out; a row of the contract without one stops the start. */
export const handlers: readonly Handler[] = [
  applyAppEnvChanges,
  createApp,
  createAppEnv,
  deleteAppEnv,
  deployAppEnvImage,
  getApp,
  getAppEnv,
  getAppEnvHistory,
  getAppEnvPods,
  getAppEnvStatus,
  getLogs,
  listAccounts,
  listAppEnvs,
  listApps,
  listRegions,
  notifyCodeUpload,
  redeployAppEnv,
  requestDeployStorageKey,
  restartAppEnv,
  scaleAppEnvContainers,
  startAppEnv,
  stopAppEnv,
  updateAppEnv,
  updateAppEnvAutoscaling,
  updateAppEnvVariables,
  updateFunctionConfig,
  updateJobConfig,
]
