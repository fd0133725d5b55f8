import type { Task } from '../task.ts'
import { accessTasks } from './access.ts'
import { alertTasks } from './alerts.ts'
import { deploymentTasks } from './deployments.ts'
import { jobTasks } from './jobs.ts'
import { safetyTasks } from './safety.ts'
import { settingsTasks } from './settings.ts'

export const tasks: readonly Task[] = [
  ...settingsTasks,
  ...deploymentTasks,
  ...jobTasks,
  ...alertTasks,
  ...accessTasks,
  ...safetyTasks,
]
