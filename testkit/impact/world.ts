import { timestamp } from '../../src/clock.ts'
import { randomText } from '../../src/domain/ids.ts'
import type { Tx } from '../../src/store/db.ts'
import { listChatConnectionsOf } from '../../src/store/repositories/chat-connections.ts'
import { saveChatLink } from '../../src/store/repositories/chat-users.ts'
import type { TestPlatform, TestUser } from '../platform/test-platform.ts'
import type { World } from './calls.ts'

interface People {
  platform: TestPlatform
  other: TestUser
  guest: TestUser
  spare: TestUser
}

/** The objects of an installation now, for inputs of calls. `choice` from 0 to below 1 chooses among them. */
export async function worldOf(people: People, count: number, choice: () => number): Promise<World> {
  const { platform, other, guest, spare } = people
  return {
    ...{ platform, other, count, spareToken: spare.token, guestEmail: guest.email },
    ...(await platform.db.read((tx) => objectsOf(tx, platform))),
    chatCode: await platform.db.write((tx) => chatLink(tx, platform)),
    ...(await platform.db.read((tx) => peopleOf(tx, people))),
    pick: (from) => from[Math.floor(choice() * from.length)],
  }
}

/** The link that a chat shows to a person it does not know. */
async function chatLink(tx: Tx, { accountId, clock }: TestPlatform): Promise<string | null> {
  const [connection] = await listChatConnectionsOf(tx, accountId)
  if (!connection) return null
  const code = randomText(20)
  const person = { connectionId: connection.connectionId, workspace: 'T1', chatUser: 'U1', chatName: 'ann' }
  await saveChatLink(tx, code, { ...person, expiresAt: timestamp(clock.wallMs() + 600_000) })
  return code
}

async function objectsOf(tx: Tx, { accountId }: TestPlatform) {
  const appRows = await tx
    .selectFrom('apps')
    .select(['app_id', 'record'])
    .where('account_id', '=', accountId)
    .execute()
  const apps = appRows.map((row) => ({
    appId: row.app_id,
    preset: JSON.parse(row.record).dockerPreset as string,
  }))
  const presets = new Map(apps.map(({ appId, preset }) => [appId, preset]))
  const rows = await tx.selectFrom('app_envs').select(['app_env_id', 'app_id']).execute()
  const uploads = await tx.selectFrom('uploads').selectAll().execute()
  const [points, alerts, remediations, backups, runs, chats, chatUsers] = [
    await tx.selectFrom('contact_points').select('contact_point_id as id').execute(),
    await tx.selectFrom('alerts').select('alert_id as id').execute(),
    await tx.selectFrom('remediations').select('remediation_id as id').execute(),
    await tx.selectFrom('backups').select('backup_id as id').execute(),
    await tx.selectFrom('job_runs').select('job_run_id as id').execute(),
    await tx.selectFrom('chat_connections').select('connection_id as id').execute(),
    await tx.selectFrom('chat_users').select('chat_user_id as id').execute(),
  ].map((found) => found.map(({ id }) => id))
  const plans = await tx.selectFrom('approvals').select('record').where('status', '=', 'pending').execute()
  const domains = await tx.selectFrom('domains').select(['domain', 'app_env_id']).execute()
  return {
    apps,
    domains: domains.map((row) => ({ appEnvId: row.app_env_id, domain: row.domain })),
    approvals: plans.map(({ record }) => {
      const { approvalId, reviewDigest } = JSON.parse(record)
      return { approvalId, reviewDigest }
    }),
    environments: rows.map((row) => ({
      appEnvId: row.app_env_id,
      appId: row.app_id,
      preset: presets.get(row.app_id)!,
    })),
    ids: {
      ...{ contact_points: points!, alerts: alerts!, remediations: remediations! },
      ...{ backups: backups!, job_runs: runs! },
      ...{ chat_connections: chats!, chat_users: chatUsers! },
    },
    uploads: uploads.map((row) => ({ uploadId: row.upload_id, appEnvId: row.app_env_id })),
  }
}

async function peopleOf(tx: Tx, { platform, other, guest, spare }: People) {
  const { accountId, admin } = platform
  const memberships = await tx
    .selectFrom('memberships')
    .selectAll()
    .where('account_id', '=', accountId)
    .execute()
  const tokens = await tx.selectFrom('tokens').selectAll().where('user_id', '=', admin.userId).execute()
  const entries = await tx
    .selectFrom('audit_log')
    .select('entry_id')
    .where('account_id', '=', accountId)
    .orderBy('seq', 'desc')
    .limit(12)
    .execute()
  const invitationId = memberships.find((row) => row.user_id === guest.userId)?.invitation_id
  const needed = [admin, other, guest, spare].map(({ userId }) => userId)
  const kept = [admin.membershipId, other.membershipId]
  return {
    leavers: memberships
      .filter(({ user_id, admin }) => !needed.includes(user_id) && admin === 0)
      .map(({ user_id }) => user_id),
    members: memberships.map((row) => row.membership_id).filter((id) => !kept.includes(id)),
    invitation: invitationId ? { input: { invitationId }, token: guest.token } : null,
    tokens: tokens.flatMap((row) => (row.name === 'script' ? (row.token_id ?? []) : [])),
    entries: entries.map((row) => row.entry_id),
  }
}
