import { AppError } from '../errors.ts'
import type { GuideSlug } from './guides.ts'
import { type CallTool, environmentUri, guideText, type ResourceText, readResource } from './resources.ts'
import { visibleInline } from './untrusted-text.ts'

/** A prompt as a client sees it in `prompts/list`: a person picks it, often as a command. */
export interface ListedPrompt {
  name: string
  title: string
  description: string
  arguments: { name: string; description: string; required: boolean }[]
}

/** What `prompts/get` answers: our instructions, and what the model should know for them. */
export interface PromptText {
  description: string
  text: string
  resources: ResourceText[]
}

interface Prompt extends ListedPrompt {
  /** Tools without which it makes no sense: where one is not offered, neither is the prompt. */
  needs: readonly string[]
  guide: GuideSlug
  /** Argument that names an environment whose state now goes with the prompt. */
  environment?: string
  say(args: Record<string, string>): string
}

const envName = { name: 'envName', description: 'cliEnvName or appEnvId of the environment', required: true }
const wish = (name: string, description: string, required = false) => ({ name, description, required })
const given = (label: string, value: string | undefined) =>
  value === undefined ? '' : `${label}: ${value}\n`

const prompts: readonly Prompt[] = [
  {
    name: 'deploy-function',
    title: 'Deploy a function',
    description: 'Creates a function, deploys it from a folder or an image, and proves that it answers.',
    arguments: [
      wish('name', 'Name of the new function', true),
      wish('source', 'Folder with a Dockerfile, or an image reference'),
      wish('region', 'Region; any with a functionDomain when left out'),
    ],
    needs: ['create-app', 'create-app-env', 'notify-code-upload'],
    guide: 'deploy',
    say: ({ name, source, region }) =>
      `Deploy a function on Longshore.
${given('Name', name)}${given('Source', source)}${given('Region', region)}
Follow the guide below. Look first whether the app exists already (list-apps). Without a source, ask for one. When it serves, call its address once, and tell me the address, the version and how long the first answer took.`,
  },
  {
    name: 'why-is-it-down',
    title: 'Why is it down?',
    description: 'Finds out why a function, app or job does not answer, and proposes what mends it.',
    arguments: [envName, wish('symptom', 'What you see')],
    needs: ['get-app-env-status', 'get-app-env-pods', 'get-logs'],
    guide: 'repair',
    environment: 'envName',
    say: ({ envName, symptom }) =>
      `Find out why this environment of Longshore does not work as it should.
${given('Environment', envName)}${given('Symptom', symptom)}
Its state now and the guide are below. Only read until you know the cause. Then tell me the cause, what shows it, and the one call that mends it; make it only after I agree.`,
  },
  {
    name: 'tune-function',
    title: 'Tune a function',
    description:
      'Measures a function with a bounded load and proposes concurrency, warm containers and limits.',
    arguments: [envName, wish('goal', 'What matters: cost, latency, or a number of requests')],
    needs: ['probe-function', 'update-function-config'],
    guide: 'functions',
    environment: 'envName',
    say: ({ envName, goal }) =>
      `Tune this function of Longshore.
${given('Environment', envName)}${given('Goal', goal)}
Read get-app-env (functionConfig) and get-app-env-metrics. Ask me before probe-function: it sends real requests. Then propose values for update-function-config, each with its reason and what it costs (F4), and apply them after I agree.`,
  },
  {
    name: 'watch-environment',
    title: 'Set up alerts',
    description: 'Chooses alerts that fit an environment, tries them on the past, and creates them.',
    arguments: [envName, wish('notify', 'Contact point, or where notices should go')],
    needs: ['create-alert', 'list-contact-points'],
    guide: 'alerts',
    environment: 'envName',
    say: ({ envName, notify }) =>
      `Set up alerts for this environment of Longshore.
${given('Environment', envName)}${given('Notices to', notify)}
Look at list-alerts, list-contact-points and get-app-env-metrics-series. Propose at most three alerts with thresholds that would not have fired in quiet times; create-alert with dryRun says how often each would have. Create them after I agree, and send test-contact-point.`,
  },
]

export function listedPrompts(toolNames: ReadonlySet<string>): ListedPrompt[] {
  return offered(toolNames).map(({ name, title, description, arguments: args }) => ({
    name,
    title,
    description,
    arguments: args,
  }))
}

function offered(toolNames: ReadonlySet<string>): Prompt[] {
  return prompts.filter(({ needs }) => needs.every((name) => toolNames.has(name)))
}

/**
 * A prompt with its arguments filled in. Throws `not-found` for an unknown one, `invalid` for arguments that do not
 * fit, and what reading the environment is refused with.
 */
export async function getPrompt(
  name: string,
  args: Record<string, string>,
  toolNames: ReadonlySet<string>,
  callTool: CallTool,
): Promise<PromptText> {
  const prompt = offered(toolNames).find((one) => one.name === name)
  if (prompt === undefined) {
    throw new AppError('not-found', `There is no prompt ${visibleInline(name, 64)}`, {
      details: 'prompts/list shows the prompts of this server.',
    })
  }
  const shown = checkedArguments(prompt, args)
  const resources = [guideText(prompt.guide)]
  if (prompt.environment !== undefined) {
    const uri = environmentUri((args[prompt.environment] as string).trim())
    resources.unshift(await readResource(uri, toolNames, callTool))
  }
  return { description: prompt.description, text: prompt.say(shown), resources }
}

/** The arguments as they stand in our own sentences: one line each, nothing hidden. Empty ones count as left out. */
function checkedArguments(prompt: Prompt, args: Record<string, string>): Record<string, string> {
  const known = prompt.arguments.map(({ name }) => name)
  const unknown = Object.keys(args).find((name) => !known.includes(name))
  const missing = prompt.arguments.find(({ name, required }) => required && !args[name]?.trim())
  if (unknown !== undefined || missing !== undefined) {
    const what =
      missing === undefined
        ? `Argument ${visibleInline(unknown ?? '', 64)} is not known`
        : `Argument ${missing.name} is missing`
    throw new AppError('invalid', what, { details: `${prompt.name} takes ${known.join(', ')}.` })
  }
  const kept = Object.entries(args).filter(([, value]) => value.trim() !== '')
  return Object.fromEntries(kept.map(([name, value]) => [name, visibleInline(value, 500)]))
}
