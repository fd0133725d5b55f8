import { staticFolders, usualEntries } from './generated-dockerfile.ts'
import type { PackageFacts, SourceFacts } from './source-facts.ts'

interface Detected {
  preset: 'NEXT_JS' | 'EXPRESS' | 'NODE_JS' | 'STATIC'
  /** As in "package.json depends on express". */
  why: string
}

/** Programs that build files for a browser and start no server for production. */
const siteBuilders = [
  'vite',
  'react-scripts',
  '@angular/cli',
  '@vue/cli-service',
  'parcel',
  'gatsby',
  'astro',
  '@11ty/eleventy',
  '@docusaurus/core',
]

/** The preset for source without a Dockerfile; null if none fits. Pure. */
export function detectPreset(source: SourceFacts): Detected | null {
  const { files, packageJson } = source
  const page = staticFolders.map((folder) => (folder === '.' ? 'index.html' : `${folder}/index.html`))
  const index = page.find((name) => files.has(name))
  if (packageJson) {
    const found = ofPackage(packageJson)
    if (found) return found
  }
  if (isOtherLanguage(source)) return null
  const entry = usualEntries.find((name) => files.has(name))
  if (entry !== undefined) return { preset: 'NODE_JS', why: `it has ${entry}` }
  return index === undefined ? null : { preset: 'STATIC', why: `it has ${index}` }
}

function ofPackage({ dependencies, scripts, main }: PackageFacts): Detected | null {
  const depends = (name: string) => `package.json depends on ${name}`
  if (dependencies.has('next')) return { preset: 'NEXT_JS', why: depends('next') }
  if (dependencies.has('express')) return { preset: 'EXPRESS', why: depends('express') }
  const builder = siteBuilders.find((name) => dependencies.has(name))
  const startsSite = /^(?:vite|react-scripts|ng|vue-cli-service|parcel|gatsby|astro|eleventy|docusaurus)\b/
  const serves = scripts.start !== undefined && !startsSite.test(scripts.start)
  if (builder && 'build' in scripts && !serves) return { preset: 'STATIC', why: depends(builder) }
  if (scripts.start !== undefined) return { preset: 'NODE_JS', why: 'package.json has a start script' }
  return main === null ? null : { preset: 'NODE_JS', why: `package.json names ${main} as its main file` }
}

/** Marks of languages that no preset builds. */
function isOtherLanguage({ files, packageJson }: SourceFacts): boolean {
  return packageJson === null && languageMarks.some(({ marks }) => marks.some((mark) => files.has(mark)))
}

type Language = 'node' | 'python' | 'ruby' | 'go'

const languageMarks: readonly { language: Language; marks: readonly string[] }[] = [
  {
    language: 'python',
    marks: ['requirements.txt', 'pyproject.toml', 'manage.py', 'app.py', 'main.py', 'server.py'],
  },
  { language: 'ruby', marks: ['Gemfile', 'config.ru'] },
  { language: 'go', marks: ['go.mod'] },
]

/** The language of a source, for an example of a Dockerfile. */
export function languageOf({ files, packageJson }: SourceFacts): Language {
  if (packageJson) return 'node'
  return languageMarks.find(({ marks }) => marks.some((mark) => files.has(mark)))?.language ?? 'node'
}
