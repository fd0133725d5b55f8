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

/** Labels of the platform's containers; a container that others run from a built image has the first label only. */
export function ownContainers(installationId: string): string[] {
  return [`${label.installation}=${installationId}`, label.pod]
}

/** Begins the names of containers that only serve a build for a moment. */
export function buildContainerPrefix(installationId: string): string {
  return `longshorebuild-${installationHash(installationId)}-`
}

/** The platform's name of a container the engine names; the engine puts a slash before. */
export function platformName(engineName: string): string {
  return engineName.replace(/^\//, '').slice(namePrefix.length)
}

/** Tells installations apart in short names. */
export function installationHash(installationId: string): string {
  return shortHash(installationId, 8)
}

/** One bridge network an account, so that accounts do not reach each other. */
export function networkName(installationId: string, accountId: string): string {
  return `${namePrefix}${installationHash(installationId)}-${shortHash(accountId, 12)}`
}

export function volumeName(installationId: string, appEnvId: string, volume: string): string {
  return `longshore-${installationHash(installationId)}-${shortHash(appEnvId, 16)}-${volume}`
}

/** A hash of `text`, `length` hex digits of it. */
export function shortHash(text: string, length: number): string {
  return createHash('sha256').update(text).digest('hex').slice(0, length)
}
