import type { Client } from '../client/client.ts'
import { createAppEnv, getAppEnv } from '../contract/app-envs.ts'
import { createApp, deleteApp } from '../contract/apps.ts'
import { databasePresetNames } from '../contract/fields.ts'
import type { RawInputOf } from '../contract/operation.ts'
import { listRegions } from '../contract/regions.ts'
import { AppError } from '../errors.ts'
import { type Cli, type CliCommand, connected, type Done, type Options, print } from './command.ts'
import { exitCodes } from './command-io.ts'
import { accountOf, addFields, inputOf } from './rows/command.ts'
import { fieldsOf } from './rows/fields.ts'

/** Fields of the environment that are set from the app or from options of this command. */
const ofEnvironment = ['accountId', 'appId', 'name', 'region', 'jobConfig', 'healthCheck']

/** `longshore create`: an app with its first environment. */
export function addCreateCommand(program: CliCommand, cli: Cli, done: Done): void {
  const app = fieldsOf(createApp, ['name'])
  const environment = fieldsOf(createAppEnv, ofEnvironment)
  const command = program
    .command('create')
    .summary('create an app and its first environment')
    .description('Creates an app and its first environment. Deploy code to it with longshore deploy.')
    .argument('<name>', 'name of the app')
    .option('--env <name>', 'name of the environment', 'prod')
    .option('--region <region>', 'longshore regions list shows them (default: the first)')
  addFields(command, app)
  addFields(command, environment)
  command.runs(cli, done, async ([name], options) => {
    const { client } = await connected(cli)
    const accountId = await accountOf(client, options.account)
    const region = options.region ?? (await client.call(listRegions, {})).regions[0]?.region
    const input = { ...inputOf(app, [], options), name, accountId }
    const wanted = { ...inputOf(environment, [], options), accountId, name: options.env, region }
    const { appId, appEnvId } = await createWithApp(client, input, wanted)
    const { cliEnvName, status } = await client.call(getAppEnv, { appEnvId })
    print(cli, { appId, appEnvId, cliEnvName, status }, [
      `Created ${cliEnvName}: app ${appId}, environment ${appEnvId}, ${status}.`,
      nextStep(cliEnvName, options),
    ])
    return exitCodes.done
  })
}

/** Creates an app with an environment; neither if one of the two is refused, so that a corrected call can be repeated. */
export async function createWithApp(
  client: Client,
  app: object,
  environment: object,
): Promise<{ appId: string; appEnvId: string }> {
  const { appId } = await client.call(createApp, app as RawInputOf<typeof createApp>)
  const wanted = { ...environment, appId } as RawInputOf<typeof createAppEnv>
  const { appEnvId } = await client.call(createAppEnv, wanted).catch(async (error) => {
    await client.call(deleteApp, { appId }).catch((cause) => {
      const details = `The app ${appId} was created but could not be deleted again. Delete it with longshore apps delete ${appId}.`
      throw new AppError('invalid', (error as Error).message, { details, cause })
    })
    throw error
  })
  return { appId, appEnvId }
}

function nextStep(
  cliEnvName: string,
  { dockerPreset = 'CUSTOM', useImage, image, gitRepo }: Options,
): string {
  if (databasePresetNames.some((name) => name === dockerPreset))
    return `Check its status: longshore status ${cliEnvName}`
  const usesImage = useImage === true || image !== undefined
  const source = usesImage ? '--image <reference>' : gitRepo === undefined ? '--dir <folder>' : '--git'
  return `Deploy to it: longshore deploy --env ${cliEnvName} ${source}`
}
