import type { HealthCheck, HealthCheckInput } from '../../contract/health.ts'
import { AppError } from '../../errors.ts'

interface CheckedApp {
  isFunction: boolean
  isDatabase: boolean
  isJob: boolean
  healthCheck?: HealthCheckInput | undefined
}

const platformDefaults = { path: null, expectedStatus: null, intervalSeconds: 5, timeoutSeconds: 3 }
const stabilitySeconds = { app: 10, function: 5 }

/** The settings of the environment over those of the app over the platform's defaults. */
export function effectiveHealthCheck(app: CheckedApp, own: HealthCheckInput | undefined): HealthCheck {
  return {
    ...platformDefaults,
    stabilitySeconds: stabilitySeconds[app.isFunction ? 'function' : 'app'],
    ...app.healthCheck,
    ...own,
  }
}

/** Whether versions of the app have a stability window: neither databases nor jobs do. */
export function hasHealthCheck(app: { isDatabase: boolean; isJob: boolean }): boolean {
  return !app.isDatabase && !app.isJob
}

/** Rejects a health check that the app cannot have or that contradicts inherited settings. */
export function checkHealthCheck(app: CheckedApp, given: HealthCheckInput | undefined): void {
  if (given === undefined) return
  if (!hasHealthCheck(app)) {
    throw new AppError('invalid', 'healthCheck is for apps and functions only', {
      details: 'Leave healthCheck out for this app.',
    })
  }
  const check = effectiveHealthCheck(app, given)
  if (check.path === null && check.expectedStatus !== null) {
    throw new AppError('invalid', 'expectedStatus needs a path', {
      details: 'Send healthCheck.path too, or leave healthCheck.expectedStatus out.',
    })
  }
  if (check.timeoutSeconds > check.intervalSeconds) {
    throw new AppError('invalid', 'timeoutSeconds is longer than intervalSeconds', {
      details: `healthCheck.timeoutSeconds (${check.timeoutSeconds}) must be at most healthCheck.intervalSeconds (${check.intervalSeconds}).`,
    })
  }
}
