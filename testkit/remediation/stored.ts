import { newRun } from '../../src/domain/remediation/remediation.ts'
import { insertRun } from '../../src/store/repositories/remediation-runs.ts'
import { findRemediation } from '../../src/store/repositories/remediations.ts'
import type { TestPlatform } from '../platform/test-platform.ts'

/** A remediation that only observes, made through the API, with a run that waits. */
export async function insertTestRemediation(
  platform: TestPlatform,
  appEnvId: string,
  token: string,
  name = 'x',
): Promise<{ remediationId: string; runId: string }> {
  const input = { appEnvId, name, trigger: { cause: 'crash-loop' }, steps: [{ action: 'restart' }] }
  const { json, text } = await platform.request('POST', '/app-env/remediation', { token, input })
  if (!json.remediation) throw new Error(text)
  const { remediationId } = json.remediation
  return { remediationId, ...(await insertTestRun(platform, remediationId)) }
}

/** A run of a remediation with the cause crash-loop, as the worker begins it. */
export async function insertTestRun(
  platform: TestPlatform,
  remediationId: string,
): Promise<{ runId: string }> {
  return platform.db.write(async (tx) => {
    const seen = {
      episode: `${remediationId}-1`,
      name: 'crash-loop',
      startedAt: platform.now,
      condition: null,
    }
    const run = newRun((await findRemediation(tx, remediationId))!, seen, platform.now)
    await insertRun(tx, run)
    return { runId: run.runId }
  })
}
