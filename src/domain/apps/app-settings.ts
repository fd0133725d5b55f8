import { isDeepStrictEqual } from 'node:util'
import type { App } from '../../contract/apps.ts'

/** What an app says about building and running its code: a version keeps what it was deployed with. */
const settings = [
  'dockerPreset',
  'port',
  'image',
  'contextDir',
  'dockerfilePath',
  'customDockerfileContent',
] as const

export type AppSettings = Pick<App, (typeof settings)[number]>

/** An app as stored. */
export interface AppRecord extends App {
  /** Set by its first change: the settings of versions that keep none of their own. */
  createdAs?: AppSettings
}

interface Version {
  app?: AppSettings
}

export function settingsOf(app: App): AppSettings {
  return Object.fromEntries(settings.map((field) => [field, app[field]])) as unknown as AppSettings
}

/** The app as it was when the version was deployed. */
export function appOfVersion(app: AppRecord, version: Version | null | undefined): App {
  return { ...app, ...(version?.app ?? app.createdAs) }
}

/** What a new version keeps; nothing while the app is as it was created. */
export function keptSettings(app: AppRecord): Version {
  return app.createdAs ? { app: settingsOf(app) } : {}
}

/** How the next deployment differs from a version because the app was changed since. */
export function changesSince(
  app: AppRecord,
  version: Version & { type: 'BUILD' | 'IMAGE' },
): 'image' | 'settings' | null {
  const before = settingsOf(appOfVersion(app, version))
  const after = settingsOf(app)
  if (after.image !== null && after.image !== before.image) return 'image'
  const differs =
    version.type === 'IMAGE'
      ? before.port !== after.port
      : !isDeepStrictEqual({ ...before, image: null }, { ...after, image: null })
  return differs ? 'settings' : null
}
