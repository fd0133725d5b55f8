import { AppError } from '../../errors.ts'

/** Facts about a source; paths are relative to the context folder, with `/`. */
export interface SourceFacts {
  /** Files in the context folder and one folder below it. */
  files: ReadonlySet<string>
  packageJson: PackageFacts | null
}

export interface PackageFacts {
  scripts: Record<string, string>
  main: string | null
  /** `packageManager`, such as `pnpm@9.1.0`. */
  packageManager: string | null
  /** Names of the packages that it depends on, those for development too. */
  dependencies: ReadonlySet<string>
  /** Workspaces or `file:` dependencies: installing needs more of the source than package.json. */
  needsWholeSource: boolean
}

/** Throws `AppError('invalid')` for a package.json that cannot be read. */
export function sourceFacts(files: Iterable<string>, packageJson: string | null): SourceFacts {
  return { files: new Set(files), packageJson: packageJson === null ? null : packageFacts(packageJson) }
}

function packageFacts(content: string): PackageFacts {
  let value: unknown
  try {
    value = JSON.parse(content.replace(/^\ufeff/, ''))
  } catch {
    throw unreadablePackage('is not JSON')
  }
  if (!isRecord(value)) throw unreadablePackage('is not a JSON object')
  const packages = [value.dependencies, value.devDependencies, value.optionalDependencies].filter(isRecord)
  const specifiers = packages.flatMap((one) => Object.values(one))
  return {
    scripts: textsOf(value.scripts),
    main: text(value.main),
    packageManager: text(value.packageManager),
    dependencies: new Set(packages.flatMap((one) => Object.keys(one))),
    needsWholeSource:
      value.workspaces !== undefined ||
      specifiers.some((one) => /^(?:file|link|workspace|portal):/.test(text(one) ?? '')),
  }
}

export function unreadablePackage(why: string): AppError {
  return new AppError('invalid', `package.json ${why}, so no Dockerfile can be generated from it.`, {
    details: 'Fix it, or add a Dockerfile.',
  })
}

function textsOf(value: unknown): Record<string, string> {
  if (!isRecord(value)) return {}
  return Object.fromEntries(
    Object.entries(value).filter((entry): entry is [string, string] => text(entry[1]) !== null),
  )
}

function text(value: unknown): string | null {
  return typeof value === 'string' && value.trim() !== '' ? value : null
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
