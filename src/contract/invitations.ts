import { z } from 'zod'
import { id, isoTime, message } from './fields.ts'
import { operation } from './operation.ts'

const invitationId = id.describe('See list-invitations')

const invitation = z.object({
  invitationId: z.string(),
  /** Chosen by the inviting account, which shows only its name until the invitation is accepted. */
  accountName: z.string(),
  invitedBy: z.object({ email: z.string(), name: z.string() }),
  admin: z.boolean(),
  manageMembers: z.boolean(),
  access: z.enum(['full', 'restricted']),
  createdAt: isoTime,
})

export const listInvitations = operation({
  id: 'list-invitations',
  method: 'GET',
  path: '/invitations',
  summary: 'Lists the pending invitations of the caller. The inviting account chooses the names shown.',
  policy: { on: 'installation' },
  input: z.strictObject({}),
  output: z.object({ invitations: z.array(invitation) }),
  peopleOnly: true,
})

export const acceptInvitation = operation({
  id: 'accept-invitation',
  method: 'POST',
  path: '/invitation/accept',
  summary:
    'Accepts an invitation of the caller, who joins the account with the permissions of the invitation.',
  policy: { on: 'installation' },
  input: z.strictObject({ invitationId }),
  output: z.object({ accountId: z.string(), membershipId: z.string(), ...message }),
  peopleOnly: true,
})

export const declineInvitation = operation({
  id: 'decline-invitation',
  method: 'POST',
  path: '/invitation/decline',
  summary: 'Declines an invitation of the caller; the membership is removed.',
  policy: { on: 'installation' },
  input: z.strictObject({ invitationId }),
  output: z.object(message),
  peopleOnly: true,
})
