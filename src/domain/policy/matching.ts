import type { Rule } from '../../contract/policy.ts'
import type { PolicyCall, PolicyCaller, PolicyEnvironment } from './call.ts'
import { globTest } from './glob.ts'

type Test<T> = (value: T) => boolean

/** A test of `who` and `on`: every given field must match, in any of its values. */
export function scopeTest({ who, on }: Pick<Rule, 'who' | 'on'>): Test<PolicyCall> {
  const tests: Test<PolicyCall>[] = []
  if (who) tests.push(({ caller }) => isCaller(caller))
  const isCaller = callerTest(who)
  if (on?.operations) {
    const isNamed = anyGlob(on.operations)
    tests.push(({ operation }) => isNamed(operation))
  }
  const isEnvironment = environmentTest(on)
  // All on one environment: the label of one and the name of another are no match.
  if (isEnvironment) tests.push(({ environments }) => environments.some(isEnvironment))
  return (call) => tests.every((test) => test(call))
}

function callerTest(who: Rule['who'] = {}): Test<PolicyCaller> {
  const { kinds, members, tokens, agents, surfaces } = who
  const isAgent = agents && anyGlob(agents)
  return (caller) =>
    (kinds?.includes(caller.kind) ?? true) &&
    (members === undefined || (caller.membershipId !== null && members.includes(caller.membershipId))) &&
    (tokens === undefined || (caller.tokenId !== null && tokens.includes(caller.tokenId))) &&
    (isAgent === undefined || (caller.agent !== null && isAgent(caller.agent))) &&
    (surfaces === undefined || surfaces.some((one) => one === caller.surface))
}

function environmentTest(on: Rule['on']): Test<PolicyEnvironment> | null {
  const { environments, apps, labels, protected: isProtected } = on ?? {}
  if (!environments && !apps && !labels && isProtected === undefined) return null
  const isNamed = environments && anyGlob(environments)
  const isOfApp = apps && anyGlob(apps)
  const hasLabels = Object.entries(labels ?? {}).map(([key, value]) => labelTest(key, value))
  return (one) =>
    (isNamed?.(one.envName) ?? true) &&
    (isOfApp?.(one.app) ?? true) &&
    hasLabels.every((has) => one.labels.some(has)) &&
    (isProtected === undefined || one.protected === isProtected)
}

/** A label `stage=prod` or `stage:prod` has the key `stage` and the value `prod`; one without either has an empty value. */
function labelTest(key: string, value: string): Test<string> {
  const isValue = globTest(value)
  return (label) => {
    if (!label.trimStart().startsWith(key)) return false
    const at = label.search(/[=:]/)
    const [ownKey, ownValue] = at === -1 ? [label, ''] : [label.slice(0, at), label.slice(at + 1)]
    return ownKey.trim() === key && isValue(ownValue.trim())
  }
}

function anyGlob(patterns: readonly string[]): Test<string> {
  const tests = patterns.map(globTest)
  return (text) => tests.some((test) => test(text))
}
