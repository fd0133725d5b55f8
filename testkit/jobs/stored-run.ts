import type { JobRun } from '../../src/domain/jobs/run.ts'

/** The row of a run that has no container. */
export function storedRun(jobRunId: string, of: { appEnvId: string; accountId: string }, at: string): JobRun {
  return {
    jobRunId,
    ...of,
    number: 1,
    status: 'RUNNING',
    attempt: 1,
    snapshot: {
      image: 'x',
      contentId: 'dep_x',
      command: 'true',
      args: [],
      shell: false,
      workingDir: null,
      timeoutSeconds: 60,
      backoffLimit: 2,
    },
    trigger: { userId: 'usr_x', tokenKind: 'user' },
    createdAt: at,
    startedAt: at,
    finishedAt: null,
    exitCode: null,
    reason: null,
    region: 'local',
    envName: 'x',
    limit: null,
    ttlSecondsAfterFinished: 300,
    settings: null,
    began: null,
    retry: null,
  }
}
