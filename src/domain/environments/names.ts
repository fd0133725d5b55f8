import { randomText } from '../ids.ts'

/** Lower-case letters, digits and single hyphens; a random slug if the name contains none of them. */
export function slugOf(name: string, fallback: string): string {
  const slug = name
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 40)
    .replace(/^-+|-+$/g, '')
  return slug || `${fallback}-${randomText(5)}`
}

/** `<app slug>-<env slug>`, short enough to be a host label (63) with a suffix. */
export function environmentHostName(appSlug: string, envSlug: string): string {
  return `${appSlug.slice(0, 28)}-${envSlug.slice(0, 26)}`.replace(/-+/g, '-').replace(/^-+|-+$/g, '')
}

/** The name with a short random suffix, to resolve a clash. */
export function withSuffix(name: string): string {
  return `${name}-${randomText(5)}`
}
