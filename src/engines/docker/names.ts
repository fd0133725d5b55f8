import { createHash } from 'node:crypto'

export const label = {
  installation: 'longshore.installation',
  pod: 'longshore.pod',
  environment: 'longshore.env',
  account: 'longshore.account',
  content: 'longshore.content',
  port: 'longshore.port',
} as const

const namePrefix = 'longshore-'

export function containerName(name: string): string {
  return namePrefix + name
}

/** Labels of the platform's containers. A container that somebody else runs from a built image has only the first one. */
export function ownContainers(installationId: string): string[] {
  return [`${label.installation}=${installationId}`, label.pod]
}

/** Name prefix of the short-lived containers of a build. */
export function buildContainerPrefix(installationId: string): string {
  return `longshorebuild-${installationHash(installationId)}-`
}

/** The platform's name for a container of the engine, which puts a slash before its names. */
export function platformName(engineName: string): string {
  return engineName.replace(/^\//, '').slice(namePrefix.length)
}

/** Distinguishes installations in short names. */
export function installationHash(installationId: string): string {
  return shortHash(installationId, 8)
}

/** One bridge network per account, so that accounts cannot connect to each other. */
export function networkName(installationId: string, accountId: string): string {
  return `${namePrefix}${installationHash(installationId)}-${shortHash(accountId, 12)}`
}

export function volumeName(installationId: string, appEnvId: string, volume: string): string {
  return `longshore-${installationHash(installationId)}-${shortHash(appEnvId, 16)}-${volume}`
}

/** The first `length` hex digits of the hash of `text`. */
export function shortHash(text: string, length: number): string {
  return createHash('sha256').update(text).digest('hex').slice(0, length)
}
