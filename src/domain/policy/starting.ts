import { type PolicyContent, policyContent, type startingPolicies } from '../../contract/policy.ts'

const agents = { kinds: ['agent'] }

/** Everything is allowed. */
const open = { mode: 'enforce' }

/** Agents ask before what cannot be taken back, and are limited in number. */
const careful = {
  mode: 'observe',
  rules: [
    {
      id: 'data-loss',
      effect: 'ask',
      who: agents,
      when: [{ impact: 'dataLost', is: 'eq', value: true }],
      message: 'This loses data that no recent backup holds.',
    },
    {
      id: 'protected-containers',
      effect: 'ask',
      who: agents,
      on: { protected: true },
      when: [
        { impact: 'serving', is: 'eq', value: true },
        { impact: 'containersEnded', is: 'gt', value: 0 },
      ],
      message: 'This ends containers that serve in a protected environment.',
    },
    {
      id: 'protection',
      effect: 'ask',
      who: agents,
      on: { operations: ['update-app-env', 'undo-change'], protected: true },
      when: [{ impact: 'actions', is: 'contains', value: 'change-settings' }],
      message: 'This changes settings of a protected environment, which may be its protection.',
    },
    {
      id: 'access',
      effect: 'ask',
      who: agents,
      when: [{ impact: 'actions', is: 'contains', value: 'change-access' }],
      message: 'This changes who may do what.',
    },
    {
      id: 'credentials',
      effect: 'ask',
      who: agents,
      when: [{ impact: 'actions', is: 'contains', value: 'change-credential' }],
      message: 'This changes a credential.',
    },
  ],
  budgets: [
    { id: 'agent-writes', of: 'agent', meter: 'writes', window: '1h', soft: 100, hard: 200, onHard: 'deny' },
    {
      id: 'agent-deletions',
      of: 'agent',
      meter: 'deletions',
      window: '24h',
      soft: 5,
      hard: 10,
      onHard: 'ask',
    },
    {
      id: 'agent-deployments',
      of: 'agent',
      meter: 'deployments',
      window: '1h',
      soft: 15,
      hard: 30,
      onHard: 'ask',
    },
    { id: 'agent-restarts', of: 'agent', meter: 'restarts', window: '1h', soft: 10, hard: 20, onHard: 'ask' },
  ],
}

/** Agents propose, people decide. */
const reviewed = {
  mode: 'enforce',
  rules: [{ id: 'agents-propose', effect: 'ask', who: agents, message: 'Agents propose; a person decides.' }],
}

const policies = { open, careful, reviewed } satisfies Record<(typeof startingPolicies)[number], unknown>

export function startingPolicy(name: keyof typeof policies): PolicyContent {
  return policyContent.parse(policies[name])
}
