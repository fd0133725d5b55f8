import { type Named, type Task, unless } from '../task.ts'
import type { EvalWorld } from '../world.ts'

const serving = (text: string) =>
  `require('http').createServer((q, s) => s.end('${text} ' + process.env.COLOR)).listen(process.env.PORT)`

/** The diagnosis of the platform, repeated in the agent's last message. */
const diagnose: Task['script'] = async (call, { envName }) => {
  const { findings } = await call('diagnose-app-env', { envName })
  return findings.map(({ cause, summary }: Named) => `${cause}: ${summary}`).join('\n')
}

/** A task that asks for the cause of a deployment that fails with `server`. */
function causeTask(id: string, cause: string, server: (world: EvalWorld) => string): Task {
  return {
    id,
    writes: [],
    setup: async (world) => {
      const made = await world.app('site')
      await world.deploy(made.appEnvId, server(world))
      return { ...made }
    },
    prompt: ({ envName }) =>
      `Why does ${envName} not work? Change nothing; name the cause by its id in the catalog of diagnose-app-env.`,
    script: diagnose,
    problem: async (_world, _named, answer) =>
      unless(answer.startsWith(cause), `expected the cause ${cause}`),
  }
}

const isRunning = async (world: EvalWorld, { appEnvId }: Named) => {
  const { status, currentVersion } = await world.rest('get-app-env-status', { appEnvId })
  return { status, currentVersion }
}

/** Deployments that fail or lag behind, and environments that do not run. */
export const deploymentTasks: Task[] = [
  causeTask('why-loopback', 'loopback-bind', () =>
    serving('hello').replace('process.env.PORT', "process.env.PORT, '127.0.0.1'"),
  ),
  causeTask('why-missing-module', 'missing-module', (world) => `require('${world.word()}-client')`),
  causeTask('why-exits', 'exits-at-once', (world) => `console.log('${world.word()}'); process.exit(4)`),
  {
    id: 'start-stopped',
    writes: ['start-app-env'],
    setup: async (world) => {
      const made = await world.app('site')
      await world.deploy(made.appEnvId, serving('hello'))
      await world.rest('stop-app-env', { appEnvId: made.appEnvId })
      return { ...made }
    },
    prompt: ({ envName }) => `${envName} is down. Find out why and bring it back.`,
    async script(call, { envName }) {
      const { findings } = await call('diagnose-app-env', { envName })
      const { operation, input } = findings[0].fix
      await call(operation, input)
      return findings[0].cause
    },
    problem: async (world, named) =>
      unless((await isRunning(world, named)).status === 'RUNNING', 'it does not run'),
  },
  {
    id: 'apply-pending',
    writes: ['apply-app-env-changes'],
    setup: async (world) => {
      const made = await world.app('site')
      await world.deploy(made.appEnvId, serving('hello'))
      const set = [{ name: 'COLOR', value: world.word(), isSecret: false }]
      await world.rest('update-app-env-variables', { appEnvId: made.appEnvId, set })
      return { ...made }
    },
    prompt: ({ envName }) =>
      `A colleague changed COLOR of ${envName}, but the site does not show it. Fix that.`,
    async script(call, { envName }) {
      const { pendingChanges } = await call('get-app-env-status', { envName })
      if (!pendingChanges.hasDeployChanges) return 'Nothing is pending.'
      // The prompt asks for the change of the colleague, whom the result names.
      const { nextActions = [] } = await call('apply-app-env-changes', { envName })
      for (const { tool, input } of nextActions) await call(tool, input)
      return 'Applied.'
    },
    async problem(world, named) {
      const { pendingChanges } = await world.env(named)
      return unless(!pendingChanges.hasDeployChanges, 'the change is still pending')
    },
  },
  {
    id: 'roll-back',
    writes: ['redeploy-app-env'],
    setup: async (world) => {
      const made = await world.app('site')
      await world.deploy(made.appEnvId, serving('good'))
      await world.deploy(made.appEnvId, serving('ugly'))
      return { ...made }
    },
    prompt: ({ envName }) => `Version 2 of ${envName} shows the wrong prices. Go back to version 1.`,
    async script(call, { envName }) {
      await call('redeploy-app-env', { envName, version: 1 })
      return 'Rolled back.'
    },
    problem: async (world, named) =>
      unless((await isRunning(world, named)).currentVersion === 1, 'version 1 does not serve'),
  },
  {
    id: 'missing-variable',
    writes: ['update-app-env-variables', 'apply-app-env-changes', 'redeploy-app-env'],
    setup: async (world) => {
      const name = `${world.word().toUpperCase()}_TOKEN`
      const made = await world.app('site')
      const check = `if (!process.env.${name}) { console.error('${name} is not set'); process.exit(1) }`
      await world.deploy(made.appEnvId, `${check}\n${serving('hello')}`)
      return { ...made, value: `${world.word(1)}-${world.word(2)}` }
    },
    prompt: ({ envName, value }) =>
      `${envName} does not start because a variable is missing. Set the missing one to ${value}, and make it run.`,
    async script(call, { envName, value }) {
      const { findings } = await call('diagnose-app-env', { envName })
      const [{ name }] = findings[0].fix.input.set
      await call('update-app-env-variables', { envName, set: [{ name, value }] })
      await call('apply-app-env-changes', { envName })
      const { status } = await call('get-app-env-status', { envName })
      if (status !== 'RUNNING') await call('redeploy-app-env', { envName, version: 1 })
      return `${name} was missing.`
    },
    problem: async (world, named) =>
      unless((await isRunning(world, named)).status === 'RUNNING', 'it does not run'),
  },
  {
    id: 'failed-build',
    writes: [],
    setup: async (world) => {
      const made = await world.app('site')
      const step = `node -e "console.error('${world.word(3)} not found'); process.exit(7)"`
      const files = { Dockerfile: `FROM node:22-alpine\nRUN ${step}\nCMD ["node", "-v"]\n` }
      await world.deploy(made.appEnvId, undefined, files)
      return { ...made }
    },
    prompt: ({ envName }) =>
      `The last deployment of ${envName} failed. Quote the line of the build that says why.`,
    async script(call, { envName }) {
      return (await call('get-logs', { envName, type: 'BUILD' })).text
    },
    problem: async (world, _named, answer) =>
      unless(answer.includes(`${world.word(3)} not found`), 'the line is missing'),
  },
]
