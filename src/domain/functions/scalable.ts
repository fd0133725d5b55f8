import { AppError } from '../../errors.ts'

/** Which apps can be scaled manually or by CPU and memory: not functions (F8), not jobs; databases only manually. */
export function checkScalable(
  app: { isFunction: boolean; isJob: boolean; isDatabase: boolean },
  what: 'autoscaling' | 'manual container scaling',
): void {
  if (app.isFunction) {
    throw new AppError('invalid', `Functions do not use ${what}`, {
      details:
        'They scale by concurrent requests: set containerConcurrency, minScale and maxScale with update-function-config.',
      rule: 'F8',
    })
  }
  if (app.isJob) {
    throw new AppError('invalid', `Jobs do not use ${what}`, {
      details: 'Each run is one container: set maxConcurrency with update-job-config.',
    })
  }
  if (app.isDatabase && what === 'autoscaling') {
    throw new AppError('invalid', 'Managed databases do not use autoscaling', {
      details: 'Set zClouds with update-app-env, or containers with scale-app-env-containers.',
    })
  }
}
