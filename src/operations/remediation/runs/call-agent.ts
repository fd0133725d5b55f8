import { timestamp } from '../../../clock.ts'
import type { RemediationStep } from '../../../contract/remediation-fields.ts'
import { personAccess, type TokenAccess } from '../../../domain/access/agent-limits.ts'
import { newToken, tokenHash } from '../../../domain/access/tokens.ts'
import type { StoredRun } from '../../../domain/remediation/remediation.ts'
import { insertToken } from '../../../store/repositories/tokens.ts'
import type { Context } from '../../core/handler.ts'
import { sendNotification } from './notify.ts'
import type { RunTarget } from './run-target.ts'

/** For an agent that is called, unless its step says otherwise. */
export const usualSeconds = 600

/**
 * Sends a signed webhook with a token of minutes that can do the listed operations on this environment only. In mode ask it
 * can only propose. Returns the id of the token, which ends with the run.
 */
export async function callAgent(
  context: Context,
  run: StoredRun,
  { contactPointId, operations, expiresInSeconds = usualSeconds }: RemediationStep & { action: 'call-agent' },
  target: RunTarget,
): Promise<string> {
  const { tx, now, apiUrl } = context
  const { remediation } = target
  const onlyProposes = remediation.mode === 'ask'
  const access: TokenAccess = {
    ...personAccess,
    kind: 'agent',
    label: remediation.name,
    pin: { account: null, app: null, env: null, environments: [run.appEnvId] },
    mayPropose: onlyProposes,
    remediation: { runId: run.runId, operations },
  }
  const token = newToken('user')
  const expiresAt = timestamp(Date.parse(now) + expiresInSeconds * 1000)
  const options = { name: `Remediation ${run.runId}`, readOnly: onlyProposes, expiresAt, access }
  const tokenId = await insertToken(
    tx,
    tokenHash(token),
    { kind: 'user', userId: remediation.actsFor },
    now,
    options,
  )
  const agent = { token, expiresAt, operations, readOnly: onlyProposes, apiUrl, mcpUrl: `${apiUrl}/mcp` }
  await sendNotification(context, run, target, {
    event: 'call-agent',
    contactPointIds: [contactPointId],
    agent,
  })
  return tokenId
}
