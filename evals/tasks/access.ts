import { type Task, unless } from '../task.ts'
import type { EvalWorld } from '../world.ts'

/** A member who may see one of two environments. */
async function restricted(world: EvalWorld) {
  const { accountId } = world
  await world.rest('update-account', { accountId, memberEnvAccessEnabled: true })
  const [open, closed] = [await world.app('open'), await world.app('closed')]
  const email = `${world.word()}-${accountId.slice(4, 12)}@example.com`
  const { membershipId } = await world.rest('add-member', { accountId, email, name: 'Bo' })
  const allowedAppEnvIds = [open.appEnvId]
  await world.rest('update-member-env-access', { accountId, membershipId, allowedAppEnvIds })
  return {
    accountId,
    email,
    membershipId: membershipId as string,
    openId: open.appEnvId,
    closedId: closed.appEnvId,
    openName: open.envName,
    closedName: closed.envName,
  }
}

const allowed = async (world: EvalWorld, membershipId: string | undefined): Promise<string[]> =>
  (await world.rest('get-member-env-access', { accountId: world.accountId, membershipId })).allowedAppEnvIds

/** Members, their access, and changes that are taken back. */
export const accessTasks: Task[] = [
  {
    id: 'grant-access',
    writes: ['update-member-env-access'],
    setup: restricted,
    prompt: ({ accountId, email, closedName }) =>
      `The member ${email} of account ${accountId} also needs ${closedName}. Keep the access that exists.`,
    async script(call, { accountId, email, closedName }) {
      const { members } = await call('list-members', { accountId })
      const { membershipId, allowedAppEnvIds } = members.find((one: { email: string }) => one.email === email)
      const { appEnvId } = await call('get-app-env', { envName: closedName })
      await call('update-member-env-access', {
        accountId,
        membershipId,
        allowedAppEnvIds: [...allowedAppEnvIds, appEnvId],
      })
      return 'Granted.'
    },
    async problem(world, { membershipId, openId, closedId }) {
      const ids = await allowed(world, membershipId)
      return unless(ids.toSorted().join() === [openId, closedId].toSorted().join(), 'other access')
    },
  },
  {
    id: 'explain-access',
    writes: [],
    setup: restricted,
    prompt: ({ email, closedName }) =>
      `Can ${email} operate ${closedName}? Answer yes or no, with the reason.`,
    async script(call, { email, closedName }) {
      const { members } = await call('explain-access', { envName: closedName })
      const member = members.find((one: { email: string }) => one.email === email)
      return `${member.operates ? 'Yes' : 'No'}: ${member.because.join('; ')}`
    },
    problem: async (_world, _named, answer) => unless(/^\W*no\b/i.test(answer), 'the answer is no'),
  },
  {
    id: 'undo-change',
    writes: ['undo-change'],
    setup: async (world) => {
      const made = await world.app('site')
      await world.rest('scale-app-env-containers', { appEnvId: made.appEnvId, containers: 2 })
      await world.rest('scale-app-env-containers', { appEnvId: made.appEnvId, containers: 9 })
      return { ...made, accountId: world.accountId }
    },
    prompt: ({ envName, accountId }) => `In account ${accountId}, take back the last change of ${envName}.`,
    async script(call, { envName, accountId }) {
      const { appEnvId } = await call('get-app-env', { envName })
      const { entries } = await call('list-audit', { accountId, objectId: appEnvId, limit: 1 })
      await call('undo-change', { entryId: entries[0].entryId, confirm: envName })
      return 'Taken back.'
    },
    problem: async (world, named) => unless((await world.env(named)).containers === 2, 'not 2 containers'),
  },
  {
    id: 'who-changed-it',
    writes: [],
    setup: async (world) => {
      const made = await world.app('site')
      const set = [{ name: 'COLOR', value: world.word(), isSecret: false }]
      await world.rest('update-app-env-variables', { appEnvId: made.appEnvId, set })
      return { ...made, accountId: world.accountId }
    },
    prompt: ({ envName, accountId }) =>
      `In account ${accountId}, who changed the variables of ${envName} last? Answer with the e-mail address.`,
    async script(call, { envName, accountId }) {
      const { appEnvId } = await call('get-app-env', { envName })
      const { entries } = await call('list-audit', { accountId, objectId: appEnvId })
      const entry = entries.find((one: { operation: string }) => one.operation === 'update-app-env-variables')
      return entry.principal.email
    },
    async problem(world, _named, answer) {
      const { email } = await world.rest('get-user', {})
      return unless(answer.includes(email), `it was ${email}`)
    },
  },
]
