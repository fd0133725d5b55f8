import type { Autoscaling } from '../../contract/app-envs.ts'
import { AppError } from '../../errors.ts'

export const autoscalingDefaults: Autoscaling = {
  enabled: false,
  minContainers: 1,
  maxContainers: 3,
  targetCpuPercent: 70,
  targetMemoryPercent: null,
  scaleUpWindowSeconds: 0,
  scaleDownWindowSeconds: 300,
}

export function checkAutoscaling(autoscaling: Autoscaling): void {
  if (autoscaling.minContainers > autoscaling.maxContainers) {
    throw new AppError(
      'invalid',
      `minContainers ${autoscaling.minContainers} is above maxContainers ${autoscaling.maxContainers}`,
      { details: 'Raise maxContainers or lower minContainers.' },
    )
  }
}
