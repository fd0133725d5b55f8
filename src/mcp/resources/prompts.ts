import { AppError } from '../../errors.ts'
import { sanitizeInline } from '../policy/untrusted-text.ts'
import type { GuideSlug } from './guides.ts'
import { type CallTool, environmentUri, guideText, type ResourceText, readResource } from './resources.ts'

/** A prompt as a client sees it in `prompts/list`: a person picks it, often as a command. */
interface ListedPrompt {
  name: string
  title: string
  description: string
  arguments: { name: string; description: string; required: boolean }[]
}

/** Result of `prompts/get`: instructions, and the context that the model needs for them. */
interface PromptText {
  description: string
  text: string
  resources: ResourceText[]
}

interface Prompt extends ListedPrompt {
  /** Tools that the prompt requires: it is listed only if all of them are. */
  needs: readonly string[]
  guide: GuideSlug
  /** Argument that names an environment; the prompt includes its current state. */
  environment?: string
  say(args: Record<string, string>): string
}

const envName = { name: 'envName', description: 'cliEnvName or appEnvId of the environment', required: true }
const argument = (name: string, description: string, required = false) => ({ name, description, required })
const given = (label: string, value: string | undefined) =>
  value === undefined ? '' : `${label}: ${value}\n`

const prompts: readonly Prompt[] = [
  {
    name: 'deploy-function',
    title: 'Deploy a function',
    description: 'Creates a function, deploys it from a folder or an image, and checks that it serves.',
    arguments: [
      argument('name', 'Name of the new function', true),
      argument('source', 'Folder with a Dockerfile, or an image reference'),
      argument('region', 'Region; by default any with a functionDomain'),
    ],
    needs: ['create-app', 'create-app-env', 'notify-code-upload'],
    guide: 'deploy',
    say: ({ name, source, region }) =>
      `Deploy a function on Longshore.
${given('Name', name)}${given('Source', source)}${given('Region', region)}
Follow the guide below. First check whether the app exists already (list-apps). If no source is given, ask for one. When the function serves, call its address once, and tell me the address, the version and how long the first response took.`,
  },
  {
    name: 'why-is-it-down',
    title: 'Why is it down?',
    description: 'Finds out why a function, app or job does not work, and proposes a fix.',
    arguments: [envName, argument('symptom', 'What you see')],
    needs: ['diagnose-app-env', 'get-app-env-status', 'get-app-env-pods', 'get-logs'],
    guide: 'repair',
    environment: 'envName',
    say: ({ envName, symptom }) =>
      `Find out why this Longshore environment does not work.
${given('Environment', envName)}${given('Symptom', symptom)}
Its current state and the guide are below. Begin with diagnose-app-env, and what-changed if a metric broke. Only read until you know the cause. Then tell me the cause, the evidence, and the one call that fixes it; make that call only after I agree.`,
  },
  {
    name: 'tune-function',
    title: 'Tune a function',
    description:
      'Measures a function with a bounded load and proposes concurrency, warm containers and limits.',
    arguments: [envName, argument('goal', 'The goal: cost, latency, or a number of requests')],
    needs: ['probe-function', 'update-function-config'],
    guide: 'functions',
    environment: 'envName',
    say: ({ envName, goal }) =>
      `Tune this Longshore function.
${given('Environment', envName)}${given('Goal', goal)}
Read get-app-env (functionConfig) and get-app-env-metrics. Ask me before probe-function: it sends real requests. Then propose values for update-function-config, each with its reason and cost (F4), and apply them after I agree.`,
  },
  {
    name: 'watch-environment',
    title: 'Set up alerts',
    description: 'Chooses alerts for an environment, tests them against past metrics, and creates them.',
    arguments: [envName, argument('notify', 'Contact point, or where to send notifications')],
    needs: ['create-alert', 'list-contact-points'],
    guide: 'alerts',
    environment: 'envName',
    say: ({ envName, notify }) =>
      `Set up alerts for this Longshore environment.
${given('Environment', envName)}${given('Notifications to', notify)}
Read list-alerts, list-contact-points and get-app-env-metrics-series. Propose at most three alerts with thresholds that would not have fired in normal operation; create-alert with dryRun reports how often each would have fired. Create them after I agree, and send test-contact-point.`,
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
 * A prompt with its arguments filled in. Throws `not-found` for an unknown prompt, `invalid` for bad arguments, and the
 * error of reading the environment.
 */
export async function getPrompt(
  name: string,
  args: Record<string, string>,
  toolNames: ReadonlySet<string>,
  callTool: CallTool,
): Promise<PromptText> {
  const prompt = offered(toolNames).find((one) => one.name === name)
  if (prompt === undefined) {
    throw new AppError('not-found', `There is no prompt ${sanitizeInline(name, 64)}`, {
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

/** Arguments become part of our own sentences: one line each, without hidden characters. Empty ones count as omitted. */
function checkedArguments(prompt: Prompt, args: Record<string, string>): Record<string, string> {
  const known = prompt.arguments.map(({ name }) => name)
  const unknown = Object.keys(args).find((name) => !known.includes(name))
  const missing = prompt.arguments.find(({ name, required }) => required && !args[name]?.trim())
  if (unknown !== undefined || missing !== undefined) {
    const what =
      missing === undefined
        ? `Unknown argument ${sanitizeInline(unknown ?? '', 64)}`
        : `Argument ${missing.name} is missing`
    throw new AppError('invalid', what, { details: `${prompt.name} takes ${known.join(', ')}.` })
  }
  const kept = Object.entries(args).filter(([, value]) => value.trim() !== '')
  return Object.fromEntries(kept.map(([name, value]) => [name, sanitizeInline(value, 500)]))
}
