import type { Autoscaling } from '../../contract/app-envs.ts'
import { AppError } from '../../errors.ts'

export function checkAutoscaling(autoscaling: Autoscaling): void {
  if (autoscaling.minContainers > autoscaling.maxContainers) {
    throw new AppError(
      'invalid',
      `minContainers ${autoscaling.minContainers} is above maxContainers ${autoscaling.maxContainers}`,
      { details: 'Raise maxContainers or lower minContainers.' },
    )
  }
}
