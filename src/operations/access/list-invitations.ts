import { plainLine } from '../../contract/fields.ts'
import { listInvitations } from '../../contract/invitations.ts'
import { listInvitationsOf } from '../../store/repositories/invitations.ts'
import { findUsers } from '../../store/repositories/users.ts'
import { handler } from '../core/handler.ts'
import { userOf } from '../core/user-of.ts'
import { accessOf } from './member-access.ts'

export default handler(listInvitations, async ({ tx, caller }) => {
  const pending = await listInvitationsOf(tx, userOf(caller))
  const inviters = pending.map(({ membership }) => membership.invitation?.invitedBy ?? '')
  const users = await findUsers(tx, [...new Set(inviters)])
  const invitations = pending.map(({ membership, accountName, createdAt }) => {
    const { admin, manageMembers, invitation } = membership
    const inviter = users.get(invitation?.invitedBy ?? '')
    return {
      invitationId: invitation?.invitationId ?? '',
      accountName: plainLine(accountName),
      invitedBy: { email: plainLine(inviter?.email ?? ''), name: plainLine(inviter?.name ?? '') },
      admin,
      manageMembers,
      access: accessOf(membership),
      createdAt,
    }
  })
  return { answer: { invitations } }
})
