import { type Task, unless } from '../task.ts'

/** Making apps and changing their settings. */
export const settingsTasks: Task[] = [
  {
    id: 'create-function',
    writes: ['create-app', 'create-app-env'],
    setup: async (world) => ({ accountId: world.accountId, name: `pricing-${world.word()}` }),
    prompt: ({ accountId, name }) =>
      `In account ${accountId}, create a function named ${name} that listens on port 8080, with an environment prod in the only region.`,
    async script(call, { accountId, name }) {
      const { regions } = await call('list-regions')
      const { appId } = await call('create-app', { accountId, name, dockerPreset: 'FUNCTION', port: 8080 })
      await call('create-app-env', { accountId, appId, name: 'prod', region: regions[0].region })
      return 'Created.'
    },
    async problem(world, { name }) {
      const { appEnvs } = await world.rest('list-app-envs', { accountId: world.accountId })
      const made = appEnvs.filter((one: { slug: string; cliEnvName: string; isFunction: boolean }) =>
        one.cliEnvName.startsWith(name!),
      )
      return unless(made.length === 1 && made[0].isFunction && made[0].name === 'prod', 'no such function')
    },
  },
  {
    id: 'set-variable',
    writes: ['update-app-env-variables', 'apply-app-env-changes'],
    setup: async (world) => {
      const made = await world.app('shop')
      const variables = [
        { name: 'COLOR', value: 'red', isSecret: false },
        { name: 'API_KEY', value: 'do-not-lose-me', isSecret: true },
      ]
      await world.rest('update-app-env-variables', { appEnvId: made.appEnvId, set: variables })
      return { ...made, color: world.word() }
    },
    prompt: ({ envName, color }) => `Set the plain variable COLOR of ${envName} to ${color}.`,
    async script(call, { envName, color }) {
      const set = [{ name: 'COLOR', value: color, isSecret: false }]
      await call('update-app-env-variables', { envName, set })
      return 'Set.'
    },
    async problem(world, named) {
      const { envVars } = await world.rest('get-app-env', { appEnvId: named.appEnvId, decrypt: true })
      const value = (name: string) => envVars.find((one: { name: string }) => one.name === name)?.value
      return unless(
        value('COLOR') === named.color && value('API_KEY') === 'do-not-lose-me',
        'COLOR or API_KEY is not as expected',
      )
    },
  },
  {
    id: 'remove-variable',
    writes: ['update-app-env-variables', 'apply-app-env-changes'],
    setup: async (world) => {
      const made = await world.app('shop')
      const set = ['OLD_FLAG', 'KEEP_ME'].map((name) => ({ name, value: world.word(), isSecret: false }))
      await world.rest('update-app-env-variables', { appEnvId: made.appEnvId, set })
      return made
    },
    prompt: ({ envName }) => `Remove the variable OLD_FLAG from ${envName} and keep the others.`,
    async script(call, { envName }) {
      await call('update-app-env-variables', { envName, unset: ['OLD_FLAG'], confirm: envName })
      return 'Removed.'
    },
    async problem(world, named) {
      const { envVars } = await world.env(named)
      return unless(envVars.map(({ name }: { name: string }) => name).join() === 'KEEP_ME', 'other variables')
    },
  },
  {
    id: 'scale-app',
    writes: ['scale-app-env-containers', 'apply-app-env-changes'],
    setup: (world) => world.app('web').then((made) => ({ ...made })),
    prompt: ({ envName }) => `Run ${envName} with 3 containers.`,
    async script(call, { envName }) {
      await call('scale-app-env-containers', { envName, containers: 3 })
      return 'Scaled.'
    },
    problem: async (world, named) => unless((await world.env(named)).containers === 3, 'not 3 containers'),
  },
  {
    id: 'scale-function',
    writes: ['update-function-config', 'apply-app-env-changes'],
    setup: (world) => world.app('thumbs', { dockerPreset: 'FUNCTION' }).then((made) => ({ ...made })),
    prompt: ({ envName }) => `Keep 2 containers of ${envName} warm and let it grow to 5.`,
    async script(call, { envName }) {
      await call('update-function-config', { envName, minScale: 2, maxScale: 5, applyImmediately: true })
      return 'Done.'
    },
    async problem(world, named) {
      const { functionConfig } = await world.env(named)
      return unless(functionConfig.minScale === 2 && functionConfig.maxScale === 5, 'other limits')
    },
  },
  {
    id: 'function-wrong-tool',
    writes: ['update-function-config', 'apply-app-env-changes'],
    setup: (world) => world.app('resize', { dockerPreset: 'FUNCTION' }).then((made) => ({ ...made })),
    prompt: ({ envName }) =>
      `Scale ${envName} to at most 4 containers with scale-app-env-containers, or whatever tool is right for it.`,
    async script(call, { envName }) {
      const refused = await call('scale-app-env-containers', { envName, containers: 4 }).catch(
        (error: Error) => error.message,
      )
      // The refusal names the tool to use instead.
      const tool = /update-function-config/.exec(refused)?.[0]
      await call(tool ?? 'none', { envName, maxScale: 4 })
      return 'Functions scale by maxScale (F8).'
    },
    problem: async (world, named) =>
      unless((await world.env(named)).functionConfig.maxScale === 4, 'maxScale is not 4'),
  },
  {
    id: 'autoscaling',
    writes: ['update-app-env-autoscaling', 'apply-app-env-changes'],
    setup: (world) => world.app('api').then((made) => ({ ...made })),
    prompt: ({ envName }) => `Let ${envName} scale by itself between 2 and 6 containers at 60 % CPU.`,
    async script(call, { envName }) {
      const limits = { minContainers: 2, maxContainers: 6, targetCpuPercent: 60 }
      await call('update-app-env-autoscaling', { envName, enabled: true, ...limits })
      return 'Enabled.'
    },
    async problem(world, named) {
      const { autoscaling } = await world.env(named)
      const { enabled, minContainers, maxContainers, targetCpuPercent } = autoscaling
      const found = [enabled, minContainers, maxContainers, targetCpuPercent].join()
      return unless(found === 'true,2,6,60', `autoscaling is ${found}`)
    },
  },
]
