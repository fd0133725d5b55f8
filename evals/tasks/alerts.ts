import { type Task, unless } from '../task.ts'
import type { EvalWorld } from '../world.ts'

async function watched(world: EvalWorld, alert: Record<string, unknown> = {}) {
  const made = await world.app('checkout', { useImage: true })
  const contactPointId = await world.contactPoint('on call')
  const rule = { name: 'slow', metric: 'ingress_p95_latency', operator: 'gt', threshold: 2, duration: '5m' }
  const created = await world.rest('create-alert', {
    appEnvId: made.appEnvId,
    contactPointIds: [contactPointId],
    ...rule,
    ...alert,
  })
  return { ...made, contactPointId, alertId: created.alert.alertId as string }
}

/** Alerts and contact points. */
export const alertTasks: Task[] = [
  {
    id: 'create-alert',
    writes: ['create-alert'],
    setup: async (world) => {
      const made = await world.app('checkout', { useImage: true })
      return { ...made, accountId: world.accountId, contactPointId: await world.contactPoint('on call') }
    },
    prompt: ({ envName, accountId }) =>
      `Notify the contact point "on call" of account ${accountId} when more than 5 % of the requests to ${envName} fail with a 5xx status for 5 minutes.`,
    async script(call, { envName, accountId }) {
      const { contactPoints } = await call('list-contact-points', { accountId })
      const contactPointIds = [contactPoints[0].contactPointId]
      const rule = { metric: 'ingress_5xx_percent', operator: 'gt', threshold: 5, duration: '5m' }
      await call('create-alert', { envName, name: 'errors', contactPointIds, ...rule })
      return 'Created.'
    },
    async problem(world, { appEnvId, contactPointId }) {
      const { alerts } = await world.rest('list-alerts', { appEnvId })
      const [alert] = alerts
      const found = [
        alert?.metric,
        alert?.operator,
        alert?.threshold,
        alert?.duration,
        alert?.contactPointIds[0],
      ]
      return unless(
        alerts.length === 1 && found.join() === `ingress_5xx_percent,gt,5,5m,${contactPointId}`,
        `the alert is ${found}`,
      )
    },
  },
  {
    id: 'correct-alert',
    writes: ['update-alert'],
    setup: (world) => watched(world, { operator: 'lt' }),
    prompt: ({ envName }) =>
      `The latency alert of ${envName} fires while the site is fast: somebody turned the comparison around. Correct it.`,
    async script(call, { envName }) {
      const { alerts } = await call('list-alerts', { envName })
      await call('update-alert', { alertId: alerts[0].alertId, operator: 'gt' })
      return 'Corrected.'
    },
    async problem(world, { alertId }) {
      const { operator, threshold } = await world.rest('get-alert', { alertId })
      return unless(operator === 'gt' && threshold === 2, 'the rule is not corrected')
    },
  },
  {
    id: 'pause-alert',
    writes: ['toggle-alert', 'update-alert'],
    setup: (world) => watched(world),
    prompt: ({ envName }) => `We work on ${envName} tonight. Pause its alert; do not delete it.`,
    async script(call, { envName }) {
      const { alerts } = await call('list-alerts', { envName })
      await call('toggle-alert', { alertId: alerts[0].alertId, enabled: false })
      return 'Paused.'
    },
    problem: async (world, { alertId }) =>
      unless((await world.rest('get-alert', { alertId })).enabled === false, 'the alert is not paused'),
  },
  {
    id: 'replace-contact-point',
    writes: ['update-alert', 'delete-contact-point'],
    setup: async (world) => {
      const made = await watched(world)
      return { ...made, accountId: world.accountId, nextId: await world.contactPoint('new team') }
    },
    prompt: ({ accountId }) =>
      `In account ${accountId}, the contact point "new team" takes over from "on call". Move the alerts, then delete "on call".`,
    async script(call, { accountId }) {
      const { contactPoints } = await call('list-contact-points', { accountId })
      const idOf = (wanted: string) =>
        contactPoints.find(({ name }: { name: string }) => name === wanted).contactPointId
      const { alerts } = await call('list-alerts', { accountId })
      for (const { alertId } of alerts) {
        await call('update-alert', { alertId, contactPointIds: [idOf('new team')] })
      }
      await call('delete-contact-point', { contactPointId: idOf('on call'), confirm: 'on call' })
      return 'Replaced.'
    },
    async problem(world, { alertId, nextId }) {
      const { contactPoints } = await world.rest('list-contact-points', { accountId: world.accountId })
      const { contactPointIds } = await world.rest('get-alert', { alertId })
      return unless(
        contactPoints.length === 1 && contactPointIds.join() === nextId,
        'the old one is still used',
      )
    },
  },
  {
    id: 'create-contact-point',
    writes: ['create-contact-point'],
    setup: async (world) => ({ accountId: world.accountId, address: `${world.word()}@example.com` }),
    prompt: ({ accountId, address }) =>
      `Add a contact point "night shift" to account ${accountId} that sends e-mail to ${address}.`,
    async script(call, { accountId, address }) {
      const config = { addresses: [address] }
      await call('create-contact-point', { accountId, name: 'night shift', type: 'email', config })
      return 'Added.'
    },
    async problem(world, { address }) {
      const { contactPoints } = await world.rest('list-contact-points', { accountId: world.accountId })
      const { contactPointId } = contactPoints[0] ?? {}
      if (!contactPointId) return 'there is none'
      const { config } = await world.rest('get-contact-point', { contactPointId, showSecrets: true })
      return unless(config.addresses.join() === address, 'another address')
    },
  },
]
