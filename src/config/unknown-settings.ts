import { changesBetween } from '../nearest.ts'

export function settingNamesIn(env: NodeJS.ProcessEnv): string[] {
  return Object.keys(env).filter((name) => name.startsWith('LONGSHORE_'))
}

/** A sentence for each variable that is not a setting: a mistyped safety option must not be ignored. */
export function unknownSettings(env: NodeJS.ProcessEnv, known: readonly string[]): string[] {
  return settingNamesIn(env)
    .filter((name) => !known.includes(name))
    .map((name) => unknownSetting(name, known))
}

/** Adds the setting that was probably meant: one whose name differs by at most three letters. */
function unknownSetting(name: string, settings: readonly string[]): string {
  const near = settings
    .map((known) => ({ known, changes: changesBetween(name, known) }))
    .sort((one, other) => one.changes - other.changes)[0]
  const meant =
    near && near.changes <= 3 ? `did you mean ${near.known}?` : 'unset it (README lists the settings)'
  return `${name} is not a setting of Longshore: ${meant}`
}
